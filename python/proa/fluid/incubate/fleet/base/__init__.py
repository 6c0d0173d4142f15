"""See proa.distributed.fleet.base."""
