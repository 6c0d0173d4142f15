"""See proa.framework.core."""

from proa.framework.core import *
