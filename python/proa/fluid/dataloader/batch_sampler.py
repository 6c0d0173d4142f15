"""See proa.io."""

from proa.io.sampler import *
