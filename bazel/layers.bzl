"""Which room may depend on which, and an aspect that fails the build otherwise.

    bazel build //... --aspects=//bazel:layers.bzl%layers

Tests, benchmarks and everything else marked testonly may look anywhere.
"""

# Room to what it may use besides itself and third_party: rooms, or single
# targets of a room. The picture is in README.md.
ALLOWED = {
    "amp": ["ops", "profiler", "tensor"],
    "autograd": ["profiler", "tensor"],
    # The generated nodes: the only part of autograd that knows an op.
    "autograd/ops": ["autograd", "ops", "profiler", "tensor"],
    "bazel": [],
    "distributed": ["autograd", "ops", "profiler", "tensor"],
    "inference": ["jit", "ops", "profiler", "tensor"],
    "jit": ["ops", "profiler", "tensor"],
    "ops": ["profiler:events", "tensor"],
    "profiler": [],
    "python": ["amp", "autograd", "distributed", "inference", "jit", "ops", "profiler", "tensor"],
    "tensor": ["profiler:events"],
}

# Anything may use the macros' tools. Folders that are no rooms (examples,
# benchmarks, whatever stands beside a vendored room) may use any room.
_FREE_TOOLS = ["bazel", "third_party"]

# Every room has these, and :dist and version.h need them.
_FREE_TARGETS = ["files", "version", "version.h"]

def room_of(package):
    """The entry of ALLOWED that a package belongs to; the longest wins."""
    best = None
    for room in ALLOWED:
        if package == room or package.startswith(room + "/"):
            if best == None or len(room) > len(best):
                best = room
    return best

def violation(user, used, target):
    """A sentence if package `user` may not depend on //used:target, else None."""
    user_room, used_room = room_of(user), room_of(used)
    if user_room == None or used.split("/")[0] in _FREE_TOOLS or target in _FREE_TARGETS:
        return None
    if used_room == None:
        return "%s is in no room, so %s may not use it" % (used, user)

    # A nested room (autograd/ops) may use the one around it only if listed.
    allowed = ALLOWED[user_room]
    if user_room == used_room or used_room in allowed or "%s:%s" % (used, target) in allowed:
        return None
    return "%s may use %s only, not %s" % (
        user_room,
        ", ".join(allowed) or "no other room",
        used_room,
    )

_EDGES = ["deps", "srcs", "hdrs", "data", "implementation_deps", "textual_hdrs", "actual"]

def _layers_impl(target, ctx):
    if ctx.label.workspace_name or getattr(ctx.rule.attr, "testonly", False):
        return []
    for edge in _EDGES:
        used = getattr(ctx.rule.attr, edge, None) or []
        for dep in used if type(used) == "list" else [used]:
            if type(dep) != "Target" or dep.label.workspace_name:
                continue
            wrong = violation(ctx.label.package, dep.label.package, dep.label.name)
            if wrong:
                fail("layering: %s depends on %s, but %s" % (ctx.label, dep.label, wrong))
    return []

layers = aspect(
    implementation = _layers_impl,
    doc = "Fails the analysis when a target reaches a room that its own may not use.",
    attr_aspects = ["deps"],
)
