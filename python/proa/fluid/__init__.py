"""The few names of the old namespace that programs for 2.x still use."""

from proa.fluid import core, framework

__all__ = ["core", "framework"]
