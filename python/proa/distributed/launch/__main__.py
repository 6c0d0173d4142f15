"""See proa.distributed.launch."""

from proa.distributed.launch import launch

if __name__ == "__main__":
    launch()
