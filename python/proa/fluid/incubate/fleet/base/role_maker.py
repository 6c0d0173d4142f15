"""See proa.distributed.fleet.base.role_maker."""

from proa.distributed.fleet.base.role_maker import *
