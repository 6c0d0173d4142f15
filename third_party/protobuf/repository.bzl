"""@com_google_protobuf, version 3.21.12 (Debian 12), linked shared.

The labels are those that proto_library and cc_proto_library look for.
"""

load("//third_party:system.bzl", "INCLUDE", "system_repository")

def protobuf_repository(name):
    system_repository(
        name = name,
        package = "libprotobuf-dev",
        build_file = "//third_party/protobuf:protobuf.BUILD",
        links = {
            INCLUDE + "google/protobuf": "include/google/protobuf",
            "/usr/bin/protoc": "bin/protoc",
            # gzip_stream.h includes it; the package depends on zlib1g-dev.
            INCLUDE + "zconf.h": "include/zconf.h",
            INCLUDE + "zlib.h": "include/zlib.h",
        },
        requires = {
            "/usr/bin/protoc": "protobuf-compiler",
            INCLUDE + "google/protobuf/message.h": "libprotobuf-dev",
        },
    )
