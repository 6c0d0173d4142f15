"""@openmp//:openmp, the OpenMP runtime of GCC 12 (libgomp).

omp.h comes from the compiler itself. A target that uses `#pragma omp` needs
`copts = ["-fopenmp"]` besides this dependency.
"""

load("//third_party:system.bzl", "system_repository")

def openmp_repository(name):
    system_repository(
        name = name,
        package = "libgomp1 libgcc-12-dev",
        build_file = "//third_party/openmp:openmp.BUILD",
        links = {
            "/usr/lib/gcc/x86_64-linux-gnu/12/libgomp.so": "lib/libgomp.so",
        },
    )
