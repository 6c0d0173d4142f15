"""See proa.distributed.fleet.data_generator."""

from proa.distributed.fleet.data_generator import *
