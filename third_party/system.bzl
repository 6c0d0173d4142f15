"""Makes files of Debian packages into an external repository.

Only what is linked here is visible to the build, so a header that no target
lists cannot be included by accident (see bazel/toolchain).
"""

INCLUDE = "/usr/include/"
LIB = "/usr/lib/x86_64-linux-gnu/"

def fail_missing(rctx, what, packages):
    """Stops the build with one sentence: what is missing and how to get it.

    Args:
      rctx: the repository context.
      what: the file or program that was looked for.
      packages: Debian packages that bring it, separated by spaces.
    """
    fail("\n\n@{}: {} is missing; install it with: apt-get install -y --no-install-recommends {}\n".format(
        rctx.name,
        what,
        packages,
    ))

def require(rctx, path, packages):
    """Fails with `fail_missing` unless `path` exists; returns `path`."""
    if not rctx.path(path).exists:
        fail_missing(rctx, path, packages)
    return path

def _impl(rctx):
    for path, package in rctx.attr.requires.items():
        require(rctx, path, package)
    for path, link in rctx.attr.links.items():
        rctx.symlink(require(rctx, path, rctx.attr.package), link)
    rctx.symlink(rctx.attr.build_file, "BUILD.bazel")

system_repository = repository_rule(
    implementation = _impl,
    doc = "Links of chosen system files under one BUILD file.",
    configure = True,
    attrs = {
        "package": attr.string(mandatory = True, doc = "Debian package that holds the linked files."),
        "requires": attr.string_dict(doc = "Further paths that must exist, each with its package."),
        "links": attr.string_dict(mandatory = True, doc = "System path to path in the repository."),
        "build_file": attr.label(mandatory = True),
    },
)
