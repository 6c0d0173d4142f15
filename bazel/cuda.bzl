"""cuda_library: .cu sources compiled by nvcc, usable as a C++ dependency.

Built with --config=cuda only (--define=cuda_archs=hopper leaves out what other GPUs than Hopper's need, for half the
time); otherwise `bazel build //...` skips it and naming
it, or depending on it, is an error that says so. Depend on it through
`select({"//bazel:cuda": [":x_cuda"], "//conditions:default": []})`.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@local_cuda//:info.bzl", "CUDA_ROOT")

# For target_compatible_with of what is built with --config=cuda only.
CUDA_ONLY = select({
    "//bazel:cuda": [],
    "//conditions:default": ["@platforms//:incompatible"],
})

# Hopper natively, and code for everything from Ampere on that the driver
# translates. (The intermediate code of 90a itself runs nowhere else.)
_ARCHS = [
    "arch=compute_90a,code=sm_90a",
    "arch=compute_80,code=compute_80",
]

_FLAGS = [
    "-Xcompiler",
    "-fPIC,-Wall,-fno-omit-frame-pointer,-fno-canonical-system-headers",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    # A storage class of the host that device code has no need of.
    "-diag-suppress=1835",
    "-O3",
    "-lineinfo",
    "-DNDEBUG",
]

def _compile(ctx, source, headers):
    out = ctx.actions.declare_file("_cuda/%s/%s.pic.o" % (ctx.label.name, source.basename))
    args = ctx.actions.args()
    args.add_all(["-ccbin", "/usr/bin/g++", "-std=c++20", "-c", "-x", "cu", source, "-o", out])
    args.add_all(ctx.attr.archs, format_each = "-gencode=%s")
    args.add_all(_FLAGS + ctx.attr.copts)
    args.add_all(headers.defines, before_each = "-D")
    args.add_all(["-I.", "-I" + ctx.bin_dir.path])
    args.add_all(headers.quote_includes, before_each = "-I")
    args.add_all(headers.includes, before_each = "-I")

    # nvcc adds its own include folder; the linked copy would be a second path to
    # the same headers.
    args.add_all(
        [i for i in headers.system_includes.to_list() if "local_cuda" not in i],
        before_each = "-isystem",
    )
    ctx.actions.run(
        mnemonic = "Nvcc",
        progress_message = "Compiling %s" % source.short_path,
        inputs = depset(ctx.files.srcs + ctx.files.hdrs, transitive = [headers.headers]),
        outputs = [out],
        executable = CUDA_ROOT + "/bin/nvcc",
        arguments = [args],
        env = {
            "PATH": "/usr/bin:/bin:" + CUDA_ROOT + "/bin",
            "TMPDIR": ".",
        },
    )
    return out

def _cuda_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps])
    objects = depset([
        _compile(ctx, source, deps.compilation_context)
        for source in ctx.files.srcs
        if source.extension == "cu"
    ])
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        name = ctx.label.name,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = objects,
            pic_objects = objects,
        ),
        linking_contexts = [deps.linking_context],
        disallow_dynamic_library = True,
        alwayslink = ctx.attr.alwayslink,
    )
    own = CcInfo(
        compilation_context = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs)),
        linking_context = linking,
    )
    return [
        DefaultInfo(files = objects),
        cc_common.merge_cc_infos(
            direct_cc_infos = [own],
            cc_infos = [d[CcInfo] for d in ctx.attr.deps],
        ),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu", ".cuh", ".h"]),
        "hdrs": attr.label_list(allow_files = [".cuh", ".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "archs": attr.string_list(default = _ARCHS),
        "alwayslink": attr.bool(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
)

def cuda_library(name, deps = [], **kwargs):
    """A library of .cu sources; see the file comment.

    Args:
      name: the label.
      deps: C++ libraries; the CUDA runtime is added.
      **kwargs: srcs, hdrs, copts, archs (as of nvcc's -gencode), alwayslink.
    """
    kwargs.setdefault("archs", select({
        "//bazel:cuda_hopper": _ARCHS[:1],
        "//conditions:default": _ARCHS,
    }))
    _cuda_library(
        name = name,
        deps = deps + ["@local_cuda//:cudart"],
        target_compatible_with = CUDA_ONLY,
        **kwargs
    )
