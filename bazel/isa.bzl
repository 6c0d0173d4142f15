"""isa_libraries: one C++ source compiled once for each instruction set.

    isa_libraries(
        name = "binary_loops",
        srcs = ["binary_loops.cc"],
        deps = [":binary"],
    )

makes :binary_loops_sse2, :binary_loops_avx2, :binary_loops_avx512 and
:binary_loops, which is all three. The source puts its code into a namespace that
carries the name of the instruction set:

    namespace proa::v0::isa::PROA_ISA { void Add(...) { ... } }

PROA_ISA is the bare word (avx2), PROA_ISA_NAME the string. Only symbols whose
mangled name holds that namespace stay visible. All others become local: else the
linker could pick the AVX-512 copy of some std:: or Eigen:: inline function for
the whole program, and an older CPU would stop with an illegal instruction.

Two rules follow for such a source:
  * no static object with a constructor (it would run on every CPU; checked);
  * no header with mutable inline or static state (each copy would have its own).
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//bazel:library.bzl", "WARNINGS")

# x86-64-v3 is Haswell (2013), v4 Skylake-SP (2017).
ISAS = {
    # Xeons since Sapphire Rapids (2023).
    "amx": [
        "-march=x86-64-v4",
        "-mavx512bf16",
        "-mamx-tile",
        "-mamx-bf16",
        "-mprefer-vector-width=512",
    ],
    "avx2": ["-march=x86-64-v3"],
    "avx512": [
        "-march=x86-64-v4",
        "-mprefer-vector-width=512",
    ],
    "avx512bf16": [
        "-march=x86-64-v4",
        "-mavx512vnni",
        "-mavx512bf16",
        "-mprefer-vector-width=512",
    ],
    "avx512vnni": [
        "-march=x86-64-v4",
        "-mavx512vnni",
        "-mprefer-vector-width=512",
    ],
    # Of few machines: a fifth less code than with -O3.
    "sse2": [
        "-march=x86-64",
        "-O2",
        "-ftree-vectorize",
        "-fvect-cost-model=dynamic",
    ],
}

_COPTS = [
    "-O3",
    # The same bits from each instruction set: no fused multiply-add behind our
    # back, no reassociation.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    # g++ 12 finds hundreds in its own avx512fintrin.h.
    "-Wno-maybe-uninitialized",
]

# STB_GNU_UNIQUE symbols cannot be made local; clang has none and no such flag.
_GCC_COPTS = ["-fno-gnu-unique"]

# $1 object, $2 wanted symbols, $3 result, $4 objcopy, $5 label
_LOCALIZE = """
if [ -n "$5" ] && readelf -SW "$1" | grep -q '\\.init_array'; then
  echo "$5: $1 has a static object with a constructor (or <iostream>); it would run on CPUs without this instruction set" >&2
  exit 1
fi
exec "$4" --remove-section=.group --wildcard --keep-global-symbol="$2" "$1" "$3"
"""

def _isa_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    isa = ctx.attr.isa
    deps = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps])
    _, compiled = cc_common.compile(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        name = ctx.label.name,
        srcs = ctx.files.srcs,
        private_hdrs = ctx.files.hdrs,
        user_compile_flags = WARNINGS + _COPTS + ([] if toolchain.compiler == "clang" else _GCC_COPTS) +
                             ctx.attr.copts + ISAS[isa] + [
            "-DPROA_ISA=" + isa,
            '-DPROA_ISA_NAME="%s"' % isa,
        ],
        # Not the merged context: layering_check wants to see the direct ones.
        compilation_contexts = [d[CcInfo].compilation_context for d in ctx.attr.deps],
    )

    # Sanitizers register each object in a constructor of their own.
    sanitized = [c for c in ctx.fragments.cpp.copts if c.startswith("-fsanitize")]
    objects = []
    for pic in compiled.pic_objects:
        local = ctx.actions.declare_file("_isa/%s/%s" % (ctx.label.name, pic.basename))
        ctx.actions.run_shell(
            mnemonic = "IsaLocalize",
            progress_message = "Keeping the %s symbols of %s" % (isa, ctx.label),
            inputs = [pic],
            outputs = [local],
            command = _LOCALIZE,
            arguments = [
                pic.path,
                "*%d%s*" % (len(isa), isa),
                local.path,
                toolchain.objcopy_executable,
                "" if sanitized else str(ctx.label),
            ],
            use_default_shell_env = True,
        )
        objects.append(local)
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        name = ctx.label.name,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        linking_contexts = [deps.linking_context],
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = depset(objects)),
        CcInfo(
            compilation_context = cc_common.merge_cc_infos(
                direct_cc_infos = [CcInfo(compilation_context = cc_common.create_compilation_context(
                    headers = depset(ctx.files.hdrs),
                ))],
                cc_infos = [deps],
            ).compilation_context,
            linking_context = linking,
        ),
    ]

_isa_library = rule(
    implementation = _isa_library_impl,
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cc"]),
        "hdrs": attr.label_list(allow_files = [".h", ".inc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "isa": attr.string(
            mandatory = True,
            values = ISAS.keys(),
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
)

def isa_libraries(
        name,
        srcs,
        hdrs = [],
        deps = [],
        copts = [],
        isas = ["sse2", "avx2", "avx512"],
        visibility = None,
        **kwargs):
    """One library per instruction set, and `name` for all of them.

    Args:
      name: prefix of the targets and label of the whole.
      srcs: C++ sources; see the file comment for what they must hold to.
      hdrs: headers of the target, the same for each instruction set.
      deps: C++ libraries.
      copts: further flags, before those of the instruction set.
      isas: which, of the keys of ISAS.
      visibility: of all targets.
      **kwargs: tags, testonly and the like.
    """
    for isa in isas:
        _isa_library(
            name = name + "_" + isa,
            srcs = srcs,
            hdrs = hdrs,
            deps = deps,
            copts = copts,
            isa = isa,
            visibility = visibility,
            **kwargs
        )
    native.cc_library(
        name = name,
        hdrs = hdrs,
        deps = deps + [":%s_%s" % (name, isa) for isa in isas],
        visibility = visibility,
        **kwargs
    )
