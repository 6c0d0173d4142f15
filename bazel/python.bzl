"""python_extension: a C++ library that Python imports.

    python_extension(
        name = "_core",
        srcs = ["core.cc"],
        deps = ["//tensor:tensor", "@pybind11"],
    )

builds _core.cpython-<version>-x86_64-linux-gnu.so and the py_library :_core.
Everything of Proa is linked into the one file; the system's shared libraries are
bundled beside it when the wheel is made. Only PyInit_*, the C functions proa_*
and symbols of namespace proa are exported.
"""

load("@local_python//:info.bzl", "EXT_SUFFIX")
load("//bazel:library.bzl", "WARNINGS")

# Mangled names of functions, data, type information and guards in namespace proa.
PROA_SYMBOLS = [
    "PyInit_*",
    "proa_*",
    "_ZN4proa*",
    "_ZNK4proa*",
    "_ZT[ISV]N4proa*",
    "_ZGVN4proa*",
]

def _version_script_impl(ctx):
    ctx.actions.write(
        ctx.outputs.out,
        "{\n  global:\n%s  local:\n    *;\n};\n" % "".join(["    %s;\n" % s for s in ctx.attr.exports]),
    )

version_script = rule(
    implementation = _version_script_impl,
    doc = "Linker script that makes all symbols local but those named (globs of mangled names).",
    attrs = {
        "exports": attr.string_list(mandatory = True),
        "out": attr.output(mandatory = True),
    },
)

def shared_object(name, srcs = [], deps = [], copts = [], linkopts = [], exports = PROA_SYMBOLS, **kwargs):
    """A self-contained shared library `name` (write the .so into the name).

    Args:
      name: file name of the result.
      srcs: C++ sources.
      deps: C++ libraries, linked in statically.
      copts: further compiler flags.
      linkopts: further linker flags.
      exports: globs of mangled names to keep visible.
      **kwargs: as in cc_binary.
    """
    script = name + ".lds"
    version_script(
        name = name + "_version_script",
        exports = exports,
        out = script,
        tags = ["manual"],
        testonly = kwargs.get("testonly", False),
    )
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = WARNINGS + copts,
        linkopts = linkopts + [
            # gold exports copies of libstdc++'s inline functions in spite of the
            # version script; ld.bfd obeys it.
            "-fuse-ld=bfd",
            "-Wl,--version-script=$(location :%s)" % script,
            # A call of an exported function inside the library is direct.
            "-Wl,-Bsymbolic-functions",
            "-Wl,--as-needed",
        ],
        # Which does not know the linker option of this feature.
        features = ["-supports_start_end_lib"],
        linkshared = True,
        linkstatic = True,
        deps = deps + [":" + script],
        **kwargs
    )

def python_extension(
        name,
        srcs = [],
        deps = [],
        data = [],
        imports = [],
        exports = PROA_SYMBOLS,
        visibility = None,
        **kwargs):
    """An extension module; see the file comment.

    Args:
      name: of the module; depend on :name from py_library and pytest_test.
      srcs: C++ sources.
      deps: C++ libraries; @local_python//:headers is added.
      data: run-time files of the py_library.
      imports: as in py_library.
      exports: globs of mangled names to keep visible.
      visibility: of the module.
      **kwargs: as in cc_binary.
    """
    shared_object(
        name = name + EXT_SUFFIX,
        srcs = srcs,
        deps = deps + ["@local_python//:headers"],
        exports = exports,
        visibility = visibility,
        **kwargs
    )
    native.py_library(
        name = name,
        data = [name + EXT_SUFFIX] + data,
        imports = imports,
        testonly = kwargs.get("testonly", False),
        visibility = visibility,
    )
