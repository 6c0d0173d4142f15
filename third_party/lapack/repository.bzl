"""@lapack//:lapack, version 3.11.0 (Debian 12), Netlib's own: decompositions, as an archive of position independent code.

BSD licence (modified): its text is in /usr/share/doc/liblapack-dev/copyright.
"""

load("//third_party:system.bzl", "LIB", "system_repository")

def lapack_repository(name):
    system_repository(
        name = name,
        package = "liblapack-dev",
        build_file = "//third_party/lapack:lapack.BUILD",
        links = {
            LIB + "liblapack_pic.a": "liblapack_pic.a",
        },
    )
