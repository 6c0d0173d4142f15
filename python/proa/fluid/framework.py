"""See proa.framework.modes."""

from proa.framework.modes import *
