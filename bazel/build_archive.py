"""Runs a module_archive_test: unpack, add a consumer, build it, run it, compare.

See module_archive_test in bazel/module.bzl.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile

_BUILD = """load("//bazel:library.bzl", "proa_binary")

proa_binary(
    name = "main",
    srcs = ["main.cc"],
    deps = %r,
)
"""

# Folders of an archive that are no rooms.
_NOT_ROOMS = {"bazel", "third_party"}


def _unpack(args, workspace):
    with tarfile.open(args.archive) as tar:
        tar.extractall(workspace)
    folders = {e.name for e in os.scandir(workspace) if e.is_dir()}
    if folders - _NOT_ROOMS != set(filter(None, args.rooms.split(","))):
        sys.exit("the archive holds %s, and should hold %s besides %s" % (sorted(folders), args.rooms, _NOT_ROOMS))
    os.mkdir(workspace + "/consumer")
    shutil.copy(args.consumer, workspace + "/consumer/main.cc")
    with open(workspace + "/consumer/BUILD", "w", encoding="utf-8") as file:
        file.write(_BUILD % args.deps.split(","))


def _build_and_run(args, workspace, output_base):
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": os.path.expanduser("~"), "PROA_VENV": args.venv}
    # --batch leaves no server behind.
    bazel = ["bazel", "--batch", "--output_base=" + output_base]
    build = bazel + ["build", "--noshow_progress", "--symlink_prefix=/", "//consumer:main"]
    subprocess.run(build, cwd=workspace, env=environment, check=True)
    program = output_base + "/execroot/proa/bazel-out/k8-opt/bin/consumer/main"
    return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout


def _folder(args):
    """Where this checkout builds this archive. It is kept, as a header that changed is one of a thousand: Bazel knows
    there which files read it, and would compile all that could anywhere else."""
    place = os.path.dirname(os.path.realpath(args.archive)) + args.rooms
    name = hashlib.sha256(place.encode()).hexdigest()[:16]
    return os.path.join(os.path.expanduser("~/.cache/proa/archives"), name)


def main():
    parser = argparse.ArgumentParser()
    for flag in ("archive", "consumer", "rooms", "deps", "prints", "venv"):
        parser.add_argument("--" + flag, required=True)
    args = parser.parse_args()
    folder = _folder(args)
    workspace = folder + "/workspace"
    shutil.rmtree(workspace, ignore_errors=True)
    os.makedirs(workspace)
    try:
        _unpack(args, workspace)
        printed = _build_and_run(args, workspace, folder + "/out").strip()
        if printed != args.prints:
            sys.exit("the consumer printed %r, not %r" % (printed, args.prints))
    except subprocess.CalledProcessError as error:
        sys.exit("failed in the unpacked archive: %s" % error)


if __name__ == "__main__":
    main()
