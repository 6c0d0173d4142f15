"""See proa.distributed.launch."""

from proa.distributed.launch import launch

launch()
