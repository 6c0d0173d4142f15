"""@googletest//:gtest (with gmock) and :gtest_main, version 1.12.1 (Debian 12)."""

load("//third_party:system.bzl", "INCLUDE", "LIB", "system_repository")

def googletest_repository(name):
    system_repository(
        name = name,
        package = "libgtest-dev libgmock-dev",
        build_file = "//third_party/googletest:googletest.BUILD",
        links = {
            INCLUDE + "gtest": "include/gtest",
            INCLUDE + "gmock": "include/gmock",
            LIB + "libgtest.a": "lib/libgtest.a",
            LIB + "libgmock.a": "lib/libgmock.a",
            LIB + "libgmock_main.a": "lib/libgmock_main.a",
        },
    )
