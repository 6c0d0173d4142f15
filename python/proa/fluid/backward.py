"""See proa.static.append_backward."""

from proa.static.gradients import append_backward, gradients

__all__ = ["append_backward", "gradients"]
