"""See proa.io."""

from proa.io.dataset import *
