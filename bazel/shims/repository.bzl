"""Stand-ins for two repositories that Bazel 4.2.3 loads by itself.

Debian's rules_cc does not load under this Bazel, and each test depends on
remote_coverage_tools, which would be downloaded.
"""

def _rules_cc_impl(rctx):
    rctx.file("BUILD.bazel", "")
    rctx.file("cc/BUILD.bazel", "")
    rctx.symlink(rctx.attr._defs, "cc/defs.bzl")

rules_cc_repository = repository_rule(
    implementation = _rules_cc_impl,
    attrs = {"_defs": attr.label(default = "//bazel/shims:rules_cc_defs.bzl")},
)

def _remote_coverage_tools_impl(rctx):
    rctx.file(
        "BUILD.bazel",
        'filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])\n',
    )

remote_coverage_tools_repository = repository_rule(implementation = _remote_coverage_tools_impl)
