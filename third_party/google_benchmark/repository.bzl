"""@google_benchmark//:benchmark and :benchmark_main, version 1.7.1 (Debian 12)."""

load("//third_party:system.bzl", "INCLUDE", "system_repository")

def google_benchmark_repository(name):
    system_repository(
        name = name,
        package = "libbenchmark-dev",
        build_file = "//third_party/google_benchmark:google_benchmark.BUILD",
        links = {
            INCLUDE + "benchmark": "include/benchmark",
        },
    )
