"""proa_library, proa_test, proa_benchmark: C++ targets with the house's warnings.

They are the native rules plus `copts`; everything else passes through. One header
(or a few that make no sense apart) to a library, private unless said otherwise.
"""

# -Werror is for our own sources only; libraries come in as system headers.
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-Werror",
    "-Wno-unknown-warning-option",  # For clang, of the names below.
    # False alarms of gcc 12 in inlined standard library and vector code.
    "-Wno-error=array-bounds",
    "-Wno-error=maybe-uninitialized",
    "-Wno-error=restrict",
    "-Wno-error=stringop-overflow",
    "-Wno-error=stringop-overread",
]

def proa_library(name, copts = [], visibility = None, **kwargs):
    """A cc_library; see the file comment.

    Args:
      name: the label; by custom the stem of the header.
      copts: further compiler flags.
      visibility: unless given, the default of the package, which is private.
      **kwargs: as in cc_library: srcs, hdrs, deps, alwayslink, ...
    """
    native.cc_library(
        name = name,
        copts = WARNINGS + copts,
        visibility = visibility,
        **kwargs
    )

def proa_test(name, deps = [], copts = [], size = "small", **kwargs):
    """A GoogleTest program; `shard_count` and --test_filter work.

    Args:
      name: the label; by custom the stem of the source, ending in _test.
      deps: what it tests; GoogleTest with its main function is added.
      copts: further compiler flags.
      size: "small" (a minute) unless given.
      **kwargs: as in cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        copts = WARNINGS + copts,
        deps = deps + [
            "@googletest//:gtest",
            "@googletest//:gtest_main",
        ],
        **kwargs
    )

def proa_binary(name, copts = [], **kwargs):
    """A cc_binary with the house's warnings."""
    native.cc_binary(
        name = name,
        copts = WARNINGS + copts,
        **kwargs
    )

def proa_benchmark(name, deps = [], copts = [], tags = [], own_main = False, **kwargs):
    """A Google Benchmark program: `bazel run //room:name`, or ./dev bench.

    Args:
      name: the label; by custom the stem of the source, ending in _benchmark.
      deps: what it measures; Google Benchmark with its main function is added.
      copts: further compiler flags.
      tags: as in cc_binary; "benchmark" is added.
      own_main: the source has a main function and does without Google Benchmark.
      **kwargs: as in cc_binary.
    """
    native.cc_binary(
        name = name,
        testonly = True,
        copts = WARNINGS + copts,
        tags = tags + ["benchmark"],
        deps = deps + ([] if own_main else [
            "@google_benchmark//:benchmark",
            "@google_benchmark//:benchmark_main",
        ]),
        **kwargs
    )
