"""@pybind11//:pybind11, version 2.10.3 (Debian 12), headers only."""

load("//third_party:system.bzl", "INCLUDE", "system_repository")

def pybind11_repository(name):
    system_repository(
        name = name,
        package = "pybind11-dev",
        build_file = "//third_party/pybind11:pybind11.BUILD",
        links = {
            INCLUDE + "pybind11": "include/pybind11",
        },
    )
