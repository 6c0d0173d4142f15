"""The op families: each a folder below ops/ with an op_family in its BUILD file."""

FAMILIES = [
    "collective",
    "creation",
    "elementwise",
    "fft",
    "fused",
    "graph",
    "indexing",
    "linalg",
    "manipulation",
    "nn",
    "optimizer",
    "recurrent",
    "reduction",
    "report",
    "signal",
    "sparse",
    "special",
    "vision",
]

# Families of which no other one calls an op, in composites or in formulas of gradients: others do not see their headers, and
# so a new op there compiles nothing again but what is linked.
_LEAVES = [
    "fused",
    "report",
    "sparse",
]

def families_seen_by(family):
    """The families whose headers a family's own sources may include.

    Args:
      family: its name.
    """
    return [f for f in FAMILIES if f == family or f not in _LEAVES]
