"""Whether what is installed works."""

from proa.utils import run_check as run_check

__all__ = ["run_check"]
