"""room_version: the version number of a room, and what it needs of others.

    room_version(
        name = "version",
        room = "tensor",
        version = "0.1.0",
        needs = {"profiler": "0.1.0"},
    )

generates "tensor/version.h" with PROA_TENSOR_VERSION (major * 10000 + minor * 100 +
patch) and PROA_TENSOR_VERSION_STRING, and one static_assert for each entry of
`needs`: a vendored copy of profiler/ that is too old stops the build with a sentence.
"""

def _numbers(version):
    parts = version.split(".")
    if len(parts) != 3:
        fail("version %r is not of the form 1.2.3" % version)
    return [int(p) for p in parts]

def _encode(version):
    major, minor, patch = _numbers(version)
    if minor > 99 or patch > 99:
        fail("version %s: minor and patch end at 99" % version)
    return major * 10000 + minor * 100 + patch

def version_header(room, version, needs):
    """Text of `<room>/version.h`."""
    upper = room.upper()
    lines = [
        "// Version of %s/ and the minimum versions of the rooms it uses. Generated from" % room,
        "// the room_version of %s/BUILD." % room,
        "#ifndef PROA_%s_VERSION_H_" % upper,
        "#define PROA_%s_VERSION_H_" % upper,
        "",
    ]
    lines += ['#include "%s/version.h"' % other for other in sorted(needs)]
    lines += [
        "",
        "#define PROA_%s_VERSION %d" % (upper, _encode(version)),
        '#define PROA_%s_VERSION_STRING "%s"' % (upper, version),
        "",
    ]
    for other, least in sorted(needs.items()):
        lines += [
            "static_assert(PROA_%s_VERSION >= %d," % (other.upper(), _encode(least)),
            '              "%s %s needs %s %s or later: update the folder %s/");' % (room, version, other, least, other),
        ]
    return "\n".join(lines + ["", "#endif  // PROA_%s_VERSION_H_" % upper]) + "\n"

def _header_impl(ctx):
    ctx.actions.write(ctx.outputs.out, version_header(ctx.attr.room, ctx.attr.version, ctx.attr.needs))
    ctx.actions.write(
        ctx.outputs.check,
        "// Compiles the static_asserts, whoever includes the header.\n" +
        '#include "%s/version.h"\n' % ctx.attr.room,
    )

_header = rule(
    implementation = _header_impl,
    attrs = {
        "check": attr.output(mandatory = True),
        "needs": attr.string_dict(),
        "out": attr.output(mandatory = True),
        "room": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
    },
)

def room_version(name, room, version, needs = {}, visibility = ["//visibility:public"]):
    """Generates version.h in this package; see the file comment.

    Args:
      name: the label of the library with the header; by custom "version".
      room: name of the room, which is the folder of this package.
      version: "major.minor.patch".
      needs: rooms used, each with the least version that will do.
      visibility: of the library.
    """
    if native.package_name() != room:
        fail("room_version: room is %r, the package is %r" % (room, native.package_name()))
    _header(
        name = name + "_header",
        check = name + "_check.cc",
        needs = needs,
        out = "version.h",
        room = room,
        version = version,
    )
    native.cc_library(
        name = name,
        srcs = [name + "_check.cc"],
        hdrs = ["version.h"],
        visibility = visibility,
        deps = ["//%s:version" % other for other in sorted(needs)],
    )
