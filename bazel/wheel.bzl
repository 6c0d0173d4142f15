"""wheel: the Python package as one self-contained file.

    wheel(
        name = "wheel",
        distribution = "proa",
        version = "0.1.0",
        packages = ["//python:proa"],
        strip = "python/",
        requires = ["numpy>=1.24"],
    )

takes the Python sources and the data (extensions, .pyi, py.typed) of `packages`, and
of what they depend on in this repository. auditwheel then copies the shared libraries
of the system into the wheel under names of their own, so that they cannot clash with
another package's copy, and with their licences.
"""

load("@local_python//:info.bzl", "PY_VERSION")

def _raw_impl(ctx):
    tag = "cp" + PY_VERSION.replace(".", "")
    out = ctx.actions.declare_file("raw/%s-%s-%s-%s-linux_x86_64.whl" % (
        ctx.attr.distribution,
        ctx.attr.version,
        tag,
        tag,
    ))
    runfiles = depset(transitive = [
        depset(transitive = [p[DefaultInfo].files, p[DefaultInfo].default_runfiles.files])
        for p in ctx.attr.packages
    ]).to_list()
    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    args.add_all(["--out", out, "--name", ctx.attr.distribution, "--version", ctx.attr.version])
    args.add("--tag", "%s-%s-linux_x86_64" % (tag, tag))
    args.add_all(ctx.attr.requires, before_each = "--requires")
    args.add_all(ctx.attr.scripts, before_each = "--script")
    args.add("--readme", ctx.file.readme)
    inputs = [ctx.file.readme]
    seen = {}
    for file in runfiles:
        path = file.short_path
        if not path.startswith(ctx.attr.strip) or path in seen:
            continue
        seen[path] = True
        args.add("--file", "%s=%s" % (file.path, path[len(ctx.attr.strip):]))
        inputs.append(file)
    ctx.actions.run(
        mnemonic = "RawWheel",
        progress_message = "Packing %s" % ctx.label,
        inputs = inputs,
        outputs = [out],
        executable = ctx.executable._tool,
        arguments = [args],
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

_raw_wheel = rule(
    implementation = _raw_impl,
    attrs = {
        "distribution": attr.string(mandatory = True),
        "packages": attr.label_list(mandatory = True),
        "readme": attr.label(
            mandatory = True,
            allow_single_file = True,
        ),
        "requires": attr.string_list(),
        "scripts": attr.string_list(doc = "Commands, each as name=module:function."),
        "strip": attr.string(doc = "Prefix of the paths; files elsewhere are left out."),
        "version": attr.string(mandatory = True),
        "_tool": attr.label(
            default = "//bazel:write_wheel",
            cfg = "exec",
            executable = True,
        ),
    },
)

def _repaired_impl(ctx):
    raw = ctx.file.raw
    out = ctx.actions.declare_file(raw.basename.replace("linux_x86_64", ctx.attr.platform))
    ctx.actions.run(
        mnemonic = "AuditWheel",
        progress_message = "Bundling libraries into %s" % ctx.label,
        inputs = [raw],
        outputs = [out],
        executable = ctx.executable._tool,
        arguments = [raw.path, out.path, ctx.attr.platform] + ctx.attr.linked,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

_repaired_wheel = rule(
    implementation = _repaired_impl,
    attrs = {
        "linked": attr.string_list(doc = "Debian packages whose code is part of the extensions."),
        # glibc of Debian 12; older systems have other Abseil and protobuf anyway.
        "platform": attr.string(default = "manylinux_2_36_x86_64"),
        "raw": attr.label(
            mandatory = True,
            allow_single_file = [".whl"],
        ),
        "_tool": attr.label(
            default = "//bazel:repair_wheel",
            cfg = "exec",
            executable = True,
        ),
    },
)

def wheel(name, linked = [], visibility = ["//visibility:public"], **kwargs):
    """The finished wheel :name, and :name_raw without the system's libraries.

    Args:
      name: the label.
      linked: Debian packages of headers and archives that the extensions hold; their
        licences go into the wheel, as those of the bundled libraries do.
      visibility: of both.
      **kwargs: distribution, version, packages, strip, requires, scripts, readme.
    """
    _raw_wheel(
        name = name + "_raw",
        visibility = visibility,
        **kwargs
    )
    _repaired_wheel(
        name = name,
        linked = linked,
        raw = ":%s_raw" % name,
        visibility = visibility,
    )
