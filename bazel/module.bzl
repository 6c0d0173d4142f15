"""module_archive: `:dist`, a room with all it needs to be a workspace of its own.

    module_archive(
        name = "dist",
        files = ["//tensor:files", "//profiler:files"],
    )

makes dist.tar: the files of the room and of the rooms below it, with bazel/,
third_party/, WORKSPACE, .bazelrc, dev and the requirements. Unpacked into an empty
folder it builds and can be edited. The bytes depend on nothing but the contents.

Each package of a room lists itself once with

    load("//bazel:module.bzl", "room_files")
    room_files()                                       # in a package without packages below it
    room_files(packages = ["//ops/elementwise"])       # in one with
"""

load("@local_python//:info.bzl", "PYTHON")
load("//bazel:library.bzl", "proa_binary")

def room_files(packages = []):
    """Declares :files, all files of this package and of those below it.

    Args:
      packages: labels of the packages directly below, each with its own room_files().
    """
    native.filegroup(
        name = "files",
        srcs = native.glob(
            ["**"],
            exclude = ["**/__pycache__/**"],
            exclude_directories = 1,
        ) + [p + ":files" for p in packages],
        visibility = ["//visibility:public"],
    )

def _archive_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".tar")
    files = [f for f in ctx.files.files + ctx.files._workspace if f.is_source]
    paths = ctx.actions.declare_file(ctx.label.name + ".files")
    ctx.actions.write(paths, "\n".join([f.path for f in files]) + "\n")
    ctx.actions.run(
        mnemonic = "ModuleArchive",
        progress_message = "Packing %s" % ctx.label,
        inputs = files + [paths],
        outputs = [out],
        executable = ctx.executable._tool,
        arguments = [paths.path, out.path],
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

module_archive = rule(
    implementation = _archive_impl,
    doc = "A reproducible tar of rooms that is a workspace; see the file comment.",
    attrs = {
        "files": attr.label_list(
            mandatory = True,
            doc = "The :files of the room and of each room it depends on.",
        ),
        "_tool": attr.label(
            default = "//bazel:pack_module",
            cfg = "exec",
            executable = True,
        ),
        "_workspace": attr.label(default = "//:workspace_files"),
    },
)

def module_archive_test(name, archive, consumer, rooms, deps, prints, tags = [], **kwargs):
    """Unpacks an archive into an empty folder, and builds and runs a consumer there.

    The build is a Bazel of its own with nothing else of Proa in reach; only the
    disk cache is shared.

    Args:
      name: the label, by custom dist_test.
      archive: label of the module_archive.
      consumer: a C++ program, which becomes //consumer:main of the new workspace.
      rooms: the folders of rooms that the archive has, no more and no less.
      deps: labels that the consumer depends on.
      prints: what it has to write to standard output.
      tags: as in py_test.
      **kwargs: as in py_test.
    """
    # What it builds is built here first: else both Bazels compile the same changed
    # files at the same time, where one would find the work of the other in the
    # disk cache.
    proa_binary(
        name = name + "_consumer",
        srcs = [consumer],
        deps = deps,
    )
    native.py_test(
        name = name,
        size = "large",
        srcs = ["//bazel:build_archive.py"],
        main = "//bazel:build_archive.py",
        args = [
            "--archive=$(rootpath %s)" % archive,
            "--consumer=$(rootpath %s)" % consumer,
            "--rooms=" + ",".join(rooms),
            "--deps=" + ",".join(deps),
            "--prints='%s'" % prints,
            "--venv=" + PYTHON[:-len("/bin/python")],
        ],
        data = [
            archive,
            consumer,
            name + "_consumer",
        ],
        # A Bazel inside of the sandbox would have no sandbox for its own actions.
        tags = tags + ["local"],
        # It builds without them in any case.
        target_compatible_with = select({
            "//bazel:asan": ["@platforms//:incompatible"],
            "//bazel:tsan": ["@platforms//:incompatible"],
            "//bazel:ubsan": ["@platforms//:incompatible"],
            "//conditions:default": [],
        }),
        **kwargs
    )
