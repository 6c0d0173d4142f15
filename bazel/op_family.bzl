"""op_family: the targets of one folder of ops, made from its schema files.

    op_family(
        name = "elementwise",
        schemas = glob(["*.yaml"]),
        elementwise = ["binary"],            # stems with `kernel: elementwise` ops
        formulas = ["binary.h"],             # their formula structs
        kernels = ["cast_cpu.cc"],           # kernel functions, baseline code
        device_kernels = {"cuda": [..]},     # those of other backends (`kernel:` by backend)
        simd_kernels = ["where_cpu.cc"],     # compiled once per instruction set
        composites = ["compare.cc"],         # C++ composites
        upgrades = ["binary_upgrade.cc"],    # calls of older releases, where there are some
        infer = True,                        # has elementwise_infer.h and *_infer.cc
        kernel_deps = [...],
    )

makes, in package //ops/<name>:

    :schemas     the yaml files
    :references  <stem>_samples.py
    :reference_rules  reference*.rules, where there are any: what the reference's ops are here
    :pdmodel_rules  pdmodel.py, where there is one: what the ops are in the reference's files, beside reference.rules
    :onnx_rules  onnx.py, where there is one: what the ops are in ONNX
    :onnx_import_rules  onnx_import*.py, likewise: what operators of ONNX are here
    :ops_h       <stem>_ops.h: the front doors, header only; <name>_ops.h includes all
    :kernels_h   <stem>_kernels.h: declarations of the kernel functions; <name>_kernels.h
    :infer       shape rules of the family
    :<name>_<backend>  kernels of a backend besides the CPU, registered when linked
    :cuda        those for NVIDIA GPUs, with the elementwise ones; built with --config=cuda
    :<name>      front doors, definitions, kernels: what a program links
    <name>_grad.cc, <name>_bindings.cc, <name>_binding_docs.cc: compiled by //autograd and //python
    <name>_grad_mutants.cc, <name>_mutants.json: for ops/conformance/mutation.py only

Only headers of other families are seen here, so that families may use each other;
//ops links them all.
"""

load("//bazel:cuda.bzl", "CUDA_ONLY", "cuda_library")
load("//bazel:isa.bzl", "isa_libraries")
load("//bazel:library.bzl", "proa_library")
load("//ops:families.bzl", "families_seen_by")

def _unique(labels):
    out = []
    for label in labels:
        if label not in out:
            out.append(label)
    return out

def _cuda(name, sources, elementwise, formulas, formula_deps, deps):
    """:cuda, the kernels for NVIDIA GPUs; empty for a family that has none."""
    parts = []
    headers = [":kernels_h", ":ops_h", "//ops:kernel", "//tensor", "//tensor:scalar"]
    if elementwise:
        cuda_library(
            name = name + "_cuda_elementwise",
            srcs = [stem + "_elementwise.cu" for stem in elementwise],
            hdrs = formulas,
            # The order of operations of the CPU, for the same bits.
            copts = ["-fmad=false"],
            deps = _unique(headers + ["//ops/primitives/cuda:elementwise"] + formula_deps),
        )
        parts.append(name + "_cuda_elementwise")
    if sources:
        cuda_library(
            name = name + "_cuda_kernels",
            srcs = sources,
            deps = _unique(headers + ["//ops/primitives/cuda"] + deps),
        )
        parts.append(name + "_cuda_kernels")
    if sources != None:
        # Names the kernels, so it comes before them when all is linked.
        proa_library(
            name = name + "_cuda",
            srcs = [name + "_register_cuda.cc"],
            alwayslink = True,
            target_compatible_with = CUDA_ONLY,
            deps = [":kernels_h", ":ops_h", "//ops:kernel", "//tensor"] + [":" + p for p in parts],
        )
        parts = [name + "_cuda"]
    proa_library(
        name = "cuda",
        visibility = ["//visibility:public"],
        deps = [":" + p for p in parts],
    )

def op_family(
        name,
        schemas,
        elementwise = [],
        formulas = [],
        kernels = [],
        device_kernels = {},
        simd_kernels = [],
        composites = [],
        upgrades = [],
        infer = False,
        kernel_deps = [],
        cuda_deps = [],
        simd_deps = [],
        infer_deps = []):
    """See the file comment.

    Args:
      name: the family, which is the name of the folder.
      schemas: yaml files.
      elementwise: stems whose ops have elementwise kernels.
      formulas: headers of formula structs.
      kernels: sources of kernel functions.
      device_kernels: sources of kernel functions by backend; what runs on every device ("device") is linked with the
        family; those for "cuda" are .cu and .cuh files.
      simd_kernels: sources compiled once per instruction set.
      composites: sources of composite ops.
      upgrades: sources (<stem>_upgrade.cc) of what calls of older releases become: ops/upgrade.h.
      infer: whether the family has shape rules of its own.
      kernel_deps: what `kernels` and `composites` need besides the op headers.
      cuda_deps: what the kernels for CUDA need besides the op headers and ops/primitives/cuda.
      simd_deps: what `simd_kernels` and `formulas` need.
      infer_deps: what the shape rules need besides //ops:infer.
    """
    native.filegroup(
        name = "schemas",
        srcs = schemas,
        visibility = ["//visibility:public"],
    )
    native.filegroup(
        name = "references",
        srcs = native.glob(["*_samples.py"], allow_empty = True),
        visibility = ["//visibility:public"],
    )
    native.filegroup(
        name = "reference_rules",
        srcs = native.glob(["reference*.rules"], allow_empty = True),
        visibility = ["//jit/reference:__pkg__", "//python:__pkg__"],
    )
    native.filegroup(
        name = "pdmodel_rules",
        srcs = native.glob(["pdmodel.py"], allow_empty = True),
        visibility = ["//python:__pkg__"],
    )
    native.filegroup(
        name = "onnx_rules",
        srcs = native.glob(["onnx.py"], allow_empty = True),
        visibility = ["//python:__pkg__"],
    )
    native.filegroup(
        name = "onnx_import_rules",
        srcs = native.glob(["onnx_import*.py"], allow_empty = True),
        visibility = ["//python:__pkg__"],
    )
    loops = [stem + "_elementwise.cc" for stem in elementwise]
    stems = [schema[:-len(".yaml")] for schema in schemas]
    ops_headers = [s + "_ops.h" for s in stems + [name]]
    kernels_headers = [s + "_kernels.h" for s in stems + [name]]
    backends = {b: s for b, s in device_kernels.items()}
    if elementwise and "cuda" not in backends:
        backends["cuda"] = []
    native.genrule(
        name = "generate",
        srcs = [
            ":references",
            "//ops:schemas",
        ],
        outs = [
            name + "_ops.cc",
            name + "_definitions.cc",
            name + "_docs.cc",
            name + "_register.cc",
            name + "_grad.cc",
            name + "_bindings.cc",
            name + "_binding_docs.cc",
        ] + ops_headers + kernels_headers + loops + [stem + "_elementwise.cu" for stem in elementwise] + [
            "%s_register_%s.cc" % (name, b)
            for b in backends
        ],
        cmd = "$(execpath //ops/schema:generate) --family %s %s --out $(RULEDIR) $(SRCS)" % (
            name,
            "--has_infer" if infer else "",
        ),
        message = "Generating ops of",
        tools = ["//ops/schema:generate"],
        visibility = [
            "//autograd:__subpackages__",
            "//python:__subpackages__",
        ],
    )
    native.genrule(
        name = "generate_mutants",
        srcs = [
            ":references",
            "//ops:schemas",
        ],
        outs = [
            name + "_grad_mutants.cc",
            name + "_mutants.json",
        ],
        cmd = "$(execpath //ops/schema:generate) --family %s --mutants --out $(RULEDIR) $(SRCS)" % name,
        message = "Generating mutants of formulas of",
        tags = ["manual"],
        tools = ["//ops/schema:generate"],
        visibility = [
            "//autograd:__subpackages__",
            "//ops:__subpackages__",
        ],
    )
    proa_library(
        name = "ops_h",
        hdrs = ops_headers,
        visibility = ["//visibility:public"],
        deps = [
            "//ops:definition",
            "//ops:int_array",
            "//ops:kernel",
            "//tensor:scalar",
            "//tensor",
        ],
    )
    proa_library(
        name = "kernels_h",
        hdrs = kernels_headers,
        visibility = ["//ops:__subpackages__"],
        deps = [
            "//ops:int_array",
            "//ops:kernel",
            "//tensor:scalar",
            "//tensor",
        ],
    )
    rules = []
    if infer:
        proa_library(
            name = "infer",
            srcs = native.glob(["*_infer.cc"]),
            hdrs = [name + "_infer.h"],
            visibility = ["//ops:__subpackages__"],
            deps = ["//ops:infer", "//ops:int_array", "//tensor", "//tensor:scalar", "//tensor:error", "//tensor:shape", "//tensor:dtype"] + infer_deps,
        )
        rules = [":infer"]
    doors = ["//ops/%s:ops_h" % f for f in families_seen_by(name)]
    variants = []
    if elementwise or simd_kernels:
        isa_libraries(
            name = "simd",
            srcs = loops + simd_kernels,
            hdrs = formulas,
            deps = _unique([
                ":kernels_h",
                "//ops:kernel",
                "//ops/primitives/cpu:loops",
                "//tensor:scalar",
                "//tensor",
            ] + simd_deps),
        )
        variants = [":simd"]
    later = []
    if upgrades:
        proa_library(
            name = "upgrades",
            srcs = upgrades,
            alwayslink = True,
            deps = ["//ops:upgrade", "//ops:value"],
        )
        later = [":upgrades"]
    if "device" in backends:
        proa_library(
            name = name + "_device",
            srcs = [name + "_register_device.cc"] + backends["device"],
            alwayslink = True,
            deps = _unique([":kernels_h", ":ops_h", "//ops:kernel", "//tensor"] + kernel_deps),
        )
        later = later + [":%s_device" % name]
    _cuda(name, backends.get("cuda", None), elementwise, formulas, simd_deps, cuda_deps)
    proa_library(
        name = name,
        srcs = [
            name + "_definitions.cc",
            name + "_docs.cc",
            name + "_ops.cc",
            name + "_register.cc",
        ] + kernels + composites,
        alwayslink = True,
        visibility = ["//visibility:public"],
        deps = _unique([
            ":kernels_h",
            "//ops:boxing",
            "//ops:definition",
            "//ops:flops",
            "//ops:front_door",
            "//ops:infer",
            "//ops:interpreter",
            "//ops:kernel",
            "//ops:kernel_used",
            "//ops:rethrow",
            "//ops:value",
            "//tensor",
            "//tensor:interpreters",
        ] + doors + rules + variants + later + kernel_deps),
    )
