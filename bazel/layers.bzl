"""Which room may depend on which, and an aspect that fails the build otherwise.

    bazel build //... --aspects=//bazel:layers.bzl%layers

Tests, benchmarks and everything else marked testonly may look anywhere.
"""

# Room to what it may use besides itself and third_party: rooms, or single
# targets of a room. A target listed as a key is a room of its own: those that may
# use the room around it may not, for that reason, use the target. The picture is
# in README.md.
ALLOWED = {
    "amp": ["ops", "profiler", "tensor"],
    # The histories of kept casts, as autograd:ops is to ops.
    "amp:cast_cache_grad": ["amp", "autograd", "ops", "profiler", "tensor"],
    "autograd": ["profiler", "tensor"],
    # The generated nodes: the only part of autograd that knows an op.
    "autograd:ops": ["autograd", "autograd/ops", "ops", "profiler", "tensor"],
    "autograd/ops": ["autograd", "ops", "profiler", "tensor"],
    "bazel": [],
    "diagnostics": ["ops", "profiler", "tensor"],
    "distributed": ["autograd", "ops", "profiler", "tensor"],
    "inference": ["amp", "jit", "ops", "profiler", "tensor"],
    "jit": ["ops", "profiler", "tensor"],
    # The gradients of cond, while and late calls, as autograd:ops is to ops; inference has none.
    "jit:region_grad": ["autograd", "jit", "ops", "profiler", "tensor"],
    "jit:late_call_grad": ["autograd", "jit", "ops", "profiler", "tensor"],
    "ops": ["profiler:events", "tensor"],
    "profiler": [],
    "python": [
        "amp",
        "amp:cast_cache_grad",
        "autograd",
        "autograd/ops",
        "autograd:ops",
        "diagnostics",
        "distributed",
        "inference",
        "jit",
        "jit:late_call_grad",
        "jit:region_grad",
        "ops",
        "profiler",
        "tensor",
    ],
    "tensor": ["profiler:events"],
}

# Anything may use the macros' tools. Folders that are no rooms (examples,
# benchmarks, whatever stands beside a vendored room) may use any room.
_FREE_TOOLS = ["bazel", "third_party"]

# Every room has these, and :dist and version.h need them.
_FREE_TARGETS = ["files", "version", "version.h"]

def room_of(package, target):
    """The entry of ALLOWED that //package:target belongs to; the longest wins."""
    label = package + ":" + target
    if label in ALLOWED:
        return label
    best = None
    for room in ALLOWED:
        if package == room or package.startswith(room + "/"):
            if best == None or len(room) > len(best):
                best = room
    return best

def violation(user_package, user_target, used_package, used_target):
    """A sentence if the first label may not depend on the second, else None."""
    user = room_of(user_package, user_target)
    if user == None or used_package.split("/")[0] in _FREE_TOOLS or used_target in _FREE_TARGETS:
        return None
    used = room_of(used_package, used_target)
    if used == None:
        return "%s is in no room, so %s may not use it" % (used_package, user)
    allowed = ALLOWED[user]
    if user == used or used in allowed or "%s:%s" % (used_package, used_target) in allowed:
        return None
    return "%s may use %s only, not %s" % (user, ", ".join(allowed) or "no other room", used)

_EDGES = ["deps", "srcs", "hdrs", "data", "implementation_deps", "textual_hdrs", "actual"]

def _layers_impl(target, ctx):
    if ctx.label.workspace_name or getattr(ctx.rule.attr, "testonly", False):
        return []
    for edge in _EDGES:
        used = getattr(ctx.rule.attr, edge, None) or []
        for dep in used if type(used) == "list" else [used]:
            if type(dep) != "Target" or dep.label.workspace_name:
                continue
            wrong = violation(ctx.label.package, ctx.label.name, dep.label.package, dep.label.name)
            if wrong:
                fail("layering: %s depends on %s, but %s" % (ctx.label, dep.label, wrong))
    return []

layers = aspect(
    implementation = _layers_impl,
    doc = "Fails the analysis when a target reaches a room that its own may not use.",
    attr_aspects = ["deps"],
)
