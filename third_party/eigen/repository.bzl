"""@eigen//:eigen, version 3.4.0 (Debian 12), headers only.

Heavy: include it in .cc files, not in public headers.
"""

load("//third_party:system.bzl", "INCLUDE", "system_repository")

def eigen_repository(name):
    system_repository(
        name = name,
        package = "libeigen3-dev",
        build_file = "//third_party/eigen:eigen.BUILD",
        links = {
            INCLUDE + "eigen3": "include/eigen3",
        },
    )
