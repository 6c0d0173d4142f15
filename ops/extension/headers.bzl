"""The headers that extensions include, below include/: what the wheel ships."""

EXTENSION_HEADERS = [
    "paddle/extension.h",
    "proa/extension.h",
    "proa/extension/arguments.h",
    "proa/extension/core.h",
    "proa/extension/dispatch.h",
    "proa/extension/op.h",
    "proa/extension/ops.h",
    "proa/extension/tensor.h",
    "proa/extension_abi.h",
]
