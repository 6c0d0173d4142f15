"""pytest_test: Python tests under Bazel; sharding, --test_filter and XML work."""

def pytest_test(name, srcs, deps = [], args = [], data = [], size = "small", **kwargs):
    """Runs pytest on `srcs`.

    Args:
      name: the label, ending in _test.
      srcs: files with tests; a conftest.py may be among them.
      deps: py_library targets; pytest is added.
      args: further arguments of pytest.
      data: run-time files.
      size: "small" unless given.
      **kwargs: as in py_test: shard_count, tags, ...
    """
    native.py_test(
        name = name,
        size = size,
        srcs = srcs + ["//bazel:pytest_runner.py"],
        main = "//bazel:pytest_runner.py",
        args = ["$(rootpath %s)" % s for s in srcs if not s.endswith("conftest.py")] + args,
        data = data,
        # Python itself is not instrumented: the runner preloads the sanitizer.
        env = select({
            "//bazel:asan": {"PROA_PRELOAD": "libasan.so.8:libstdc++.so.6"},
            "//conditions:default": {},
        }),
        python_version = "PY3",
        # ThreadSanitizer cannot tell what the interpreter's lock protects.
        target_compatible_with = select({
            "//bazel:tsan": ["@platforms//:incompatible"],
            "//conditions:default": [],
        }),
        deps = deps + ["@local_python//:pytest"],
        **kwargs
    )
