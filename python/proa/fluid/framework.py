"""See proa.framework.modes."""

from proa.framework import core
from proa.framework.compat import in_dynamic_mode
from proa.framework.modes import *
