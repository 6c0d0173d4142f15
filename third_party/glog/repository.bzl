"""@glog//:glog, version 0.6.0 (Debian 12), with gflags 2.2. Linked shared."""

load("//third_party:system.bzl", "INCLUDE", "LIB", "system_repository")

def glog_repository(name):
    system_repository(
        name = name,
        package = "libgoogle-glog-dev libgflags-dev",
        build_file = "//third_party/glog:glog.BUILD",
        links = {
            INCLUDE + "glog": "include/glog",
            INCLUDE + "gflags": "include/gflags",
        },
        requires = {
            LIB + "libglog.so": "libgoogle-glog-dev libgflags-dev",
            LIB + "libgflags.so": "libgflags-dev",
        },
    )
