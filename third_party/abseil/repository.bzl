"""@com_google_absl: one target per pkg-config file, e.g. @com_google_absl//:status.

Version 20220623 (Debian 12). Linked shared everywhere: protobuf uses it too, and
one process must not hold two copies. `absl::string_view` is not
`std::string_view` in this build; convert with data() and size().
"""

load("//third_party:system.bzl", "INCLUDE", "LIB", "require")

def _field(text, key):
    for line in text.split("\n"):
        if line.startswith(key + ":"):
            return line[len(key) + 1:].strip()
    return ""

def _impl(rctx):
    require(rctx, INCLUDE + "absl/base/options.h", "libabsl-dev")
    rctx.symlink(INCLUDE + "absl", "include/absl")
    out = [
        'package(default_visibility = ["//visibility:public"])',
        'filegroup(name = "hdrs", srcs = glob(["include/absl/**/*.h", "include/absl/**/*.inc"]))',
        'cc_library(name = "headers", hdrs = [":hdrs"], includes = ["include"])',
    ]
    for pc in rctx.path(LIB + "pkgconfig").readdir():
        if not pc.basename.startswith("absl_"):
            continue
        text = rctx.read(pc)
        name = pc.basename[len("absl_"):-len(".pc")]
        deps = [":headers"] + [
            ":" + r.strip().split(" ")[0][len("absl_"):]
            for r in _field(text, "Requires").split(",")
            if r.strip()
        ]
        libs = [w for w in _field(text, "Libs").split(" ") if w.startswith("-l")]
        out.append("cc_library(name = %r, hdrs = [':hdrs'], deps = %r, linkopts = %r)" % (name, deps, libs))
    rctx.file("BUILD.bazel", "\n".join(out) + "\n")

abseil_repository = repository_rule(implementation = _impl, configure = True)
