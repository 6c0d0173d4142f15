"""@libjpeg_turbo//:jpeg, version 2.1.5 (Debian 12), shared library (its archive is not position independent): JPEG images."""

load("//third_party:system.bzl", "INCLUDE", "LIB", "system_repository")

def libjpeg_turbo_repository(name):
    system_repository(
        name = name,
        package = "libjpeg62-turbo-dev",
        build_file = "//third_party/libjpeg_turbo:libjpeg_turbo.BUILD",
        links = {
            INCLUDE + "jerror.h": "include/jerror.h",
            INCLUDE + "jmorecfg.h": "include/jmorecfg.h",
            INCLUDE + "jpeglib.h": "include/jpeglib.h",
            # Of the architecture.
            INCLUDE + "x86_64-linux-gnu/jconfig.h": "include/multiarch/jconfig.h",
        },
        requires = {LIB + "libjpeg.so": "libjpeg62-turbo-dev"},
    )
