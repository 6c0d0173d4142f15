"""See proa.distributed.fleet."""
