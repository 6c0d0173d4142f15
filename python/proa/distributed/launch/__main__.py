"""See proa.distributed.launch."""

from proa.distributed.launch import main

if __name__ == "__main__":
    main()
