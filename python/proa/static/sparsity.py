"""Weights with n zeros in each m, under the name of 2.2: see proa.incubate.asp."""

from proa.incubate.asp import (
    add_supported_layer,
    calculate_density,
    decorate,
    prune_model,
    reset_excluded_layers,
    set_excluded_layers,
)

__all__ = [
    "add_supported_layer", "calculate_density", "decorate", "prune_model", "reset_excluded_layers", "set_excluded_layers",
]  # fmt: skip
