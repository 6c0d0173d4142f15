"""The op families: each a folder below ops/ with an op_family in its BUILD file."""

FAMILIES = [
    "creation",
    "elementwise",
    "fft",
    "graph",
    "indexing",
    "linalg",
    "manipulation",
    "nn",
    "optimizer",
    "recurrent",
    "reduction",
    "signal",
    "special",
    "vision",
]
