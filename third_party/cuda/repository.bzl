"""@local_cuda: the CUDA toolkit with cuDNN and NCCL, or an empty repository of the same shape.

The toolkit is looked for in $CUDA_PATH, else /usr/local/cuda (13.0 was tried).
Without it the repository has the same targets, each failing with a sentence, so
that everything else builds on a machine without CUDA.
"""

_LIBRARIES = [
    "cublas",
    "cublasLt",
    "cudart",
    "cudnn",
    "cufft",
    "cupti",
    "curand",
    "cusolver",
    "cusparse",
    "nccl",
    "nvrtc",
]

def _present(rctx, root):
    rctx.symlink(root + "/include", "include")
    rctx.symlink(root + "/lib64/libcudart_static.a", "lib/libcudart_static.a")
    out = [
        "package(default_visibility = ['//visibility:public'])",
        "cc_library(name = 'headers', hdrs = glob(['include/**']), includes = ['include'])",
        "cc_library(name = 'cudart_static', srcs = ['lib/libcudart_static.a'], deps = [':headers'], " +
        "linkopts = ['-lpthread', '-ldl', '-lrt'])",
        # The driver library is only a stub at link time; the real one comes with the driver.
        "cc_library(name = 'cuda_driver', deps = [':headers'], linkopts = ['-L%s/lib64/stubs', '-lcuda'])" % root,
    ]
    for library in _LIBRARIES:
        out.append("cc_library(name = '%s', deps = [':headers'], linkopts = ['-L%s/lib64', '-Wl,-rpath,%s/lib64', '-l%s'])" %
                   (library, root, root, library))
    return out

def _absent(root):
    out = [
        "load(':missing.bzl', 'missing')",
        "package(default_visibility = ['//visibility:public'])",
    ]
    for target in ["headers", "cudart_static", "cuda_driver"] + _LIBRARIES:
        out.append("missing(name = '%s', path = %r)" % (target, root + "/bin/nvcc"))
    return out

_MISSING = """# Written by third_party/cuda/repository.bzl: no CUDA toolkit was found.
def _impl(ctx):
    fail("@local_cuda//:%s needs the CUDA toolkit, and %s is missing; install it, or set CUDA_PATH to its folder, or build without --config=cuda" % (ctx.label.name, ctx.attr.path))

missing = rule(implementation = _impl, attrs = {"path": attr.string()})
"""

def _impl(rctx):
    root = rctx.os.environ.get("CUDA_PATH", "/usr/local/cuda")
    found = rctx.path(root + "/bin/nvcc").exists
    rctx.file("info.bzl", "# Facts about the toolkit, for macros.\nCUDA_FOUND = %r\nCUDA_ROOT = %r\n" % (found, root))
    if not found:
        rctx.file("missing.bzl", _MISSING)
    rctx.file("BUILD.bazel", "\n".join(_present(rctx, root) if found else _absent(root)) + "\n")

cuda_repository = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["CUDA_PATH"],
)
