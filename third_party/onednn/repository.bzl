"""@onednn//:onednn, version 2.6.3 (Debian 12), shared library, C++ API v2.

CPU runtime OpenMP (libgomp): it shares the pool of @openmp.
"""

load("//third_party:system.bzl", "INCLUDE", "LIB", "system_repository")

def onednn_repository(name):
    system_repository(
        name = name,
        package = "libdnnl-dev",
        build_file = "//third_party/onednn:onednn.BUILD",
        links = {
            INCLUDE + "oneapi": "include/oneapi",
            INCLUDE + "dnnl.hpp": "include/dnnl.hpp",
            INCLUDE + "dnnl.h": "include/dnnl.h",
        },
        requires = {
            LIB + "libdnnl.so": "libdnnl-dev",
            # libdnnl has a GPU runtime and needs an OpenCL loader to be linked.
            LIB + "libOpenCL.so.1": "ocl-icd-libopencl1",
        },
    )
