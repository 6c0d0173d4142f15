"""@openssl//:crypto, version 3.0 (Debian 12), shared library: ciphers."""

load("//third_party:system.bzl", "INCLUDE", "LIB", "system_repository")

def openssl_repository(name):
    system_repository(
        name = name,
        package = "libssl-dev",
        build_file = "//third_party/openssl:openssl.BUILD",
        links = {
            INCLUDE + "openssl": "include/openssl",
            # <openssl/configuration.h> and its like are of the architecture.
            INCLUDE + "x86_64-linux-gnu/openssl": "include/multiarch/openssl",
        },
        requires = {LIB + "libcrypto.so": "libssl-dev"},
    )
