"""@deb_cc: gcc and clang that see only libc, kernel and C++ runtime headers.

/usr/include is a built-in directory of both compilers, so that with the
autodetected toolchain any installed library could be included without a
dependency. Here -nostdinc and links to the libc packages alone replace it.
"""

load("//third_party:system.bzl", "require")

_LIBC_PACKAGES = ["libc6-dev", "linux-libc-dev", "libcrypt-dev"]
_MULTIARCH = "x86_64-linux-gnu"

def _run(rctx, command):
    result = rctx.execute(command)
    if result.return_code != 0:
        fail("@%s: %s failed: %s" % (rctx.name, command, result.stderr))
    return result.stdout.strip()

def _libc_entries(files):
    """Top-level entries of /usr/include that the libc packages own."""
    entries = {}
    for file in files:
        if not file.startswith("/usr/include/"):
            continue
        parts = file[len("/usr/include/"):].split("/")
        if parts[0] != _MULTIARCH:
            entries[parts[0]] = True
        elif len(parts) > 1 and parts[1] != "c++":
            entries[_MULTIARCH + "/" + parts[1]] = True
    return entries.keys()

def _module_map(rctx, directories):
    """Text of the module map that clang's layering_check needs."""
    lines = []
    for directory in directories:
        for file in _run(rctx, ["find", "-L", directory, "-type", "f"]).split("\n"):
            if file:
                lines.append('  textual header "%s"' % file)
    root = str(rctx.path("sysroot/include"))
    for file in _run(rctx, ["find", "-L", root, "-type", "f"]).split("\n"):
        lines.append('  textual header "sysroot/include/%s"' % file[len(root) + 1:])
    return 'module "crosstool" [system] {\n' + "\n".join(lines) + "\n}\n"

def _impl(rctx):
    gcc = require(rctx, "/usr/bin/g++", "g++")
    require(rctx, "/usr/bin/ld.gold", "binutils")
    require(rctx, "/usr/bin/dpkg-query", "dpkg")
    files = _run(rctx, ["dpkg-query", "-L"] + _LIBC_PACKAGES).split("\n")
    for entry in _libc_entries(files):
        rctx.symlink("/usr/include/" + entry, "sysroot/include/" + entry)

    version = _run(rctx, [gcc, "-dumpversion"])
    gcc_dir = _run(rctx, [gcc, "-print-file-name=include"])
    cxx = [
        "/usr/include/c++/" + version,
        "/usr/include/" + _MULTIARCH + "/c++/" + version,
        "/usr/include/c++/" + version + "/backward",
    ]
    libc = [
        "external/" + rctx.name + "/sysroot/include/" + _MULTIARCH,
        "external/" + rctx.name + "/sysroot/include",
    ]

    # Clang is optional: only --config=clang and ./dev lint use it.
    clang_dir = ""
    if rctx.path("/usr/bin/clang-14").exists:
        clang_dir = _run(rctx, ["/usr/bin/clang-14", "-print-resource-dir"]) + "/include"
    rctx.file("module.modulemap", _module_map(rctx, cxx + ([clang_dir] if clang_dir else [])))
    rctx.template("BUILD.bazel", rctx.attr._template, {
        "%{gcc_isystem}": repr([x for d in cxx + [gcc_dir] + libc for x in ["-isystem", d]]),
        "%{clang_isystem}": repr([x for d in cxx + [clang_dir] + libc for x in ["-isystem", d]]),
        "%{gcc_dirs}": repr(cxx + [gcc_dir, "sysroot/include"]),
        "%{clang_dirs}": repr(cxx + [clang_dir, "/usr/lib/llvm-14/lib/clang", "sysroot/include"]),
    })

cc_toolchain_repository = repository_rule(
    implementation = _impl,
    configure = True,
    attrs = {"_template": attr.label(default = "//bazel/toolchain:toolchain.BUILD")},
)
