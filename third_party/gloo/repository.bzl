"""@gloo//:gloo, version 0.5 of 2022-05-18 (Debian 12), shared library: collectives over TCP, no TLS."""

load("//third_party:system.bzl", "INCLUDE", "system_repository")

def gloo_repository(name):
    system_repository(
        name = name,
        package = "libgloo-dev",
        build_file = "//third_party/gloo:gloo.BUILD",
        links = {INCLUDE + "gloo": "include/gloo"},
        requires = {"/usr/lib/libgloo.so": "libgloo-dev"},
    )
