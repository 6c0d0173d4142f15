"""Packs the files listed in argv[1], one path a line, into the tar argv[2].

Names are sorted and owners and dates fixed, so equal contents give equal bytes.
The top-level BUILD file is left out and a generic one put in its place: the
original names targets of rooms that the archive does not hold.
"""

import io
import os
import sys
import tarfile

_TOP_BUILD = b"""# Stands in for the top-level BUILD file of the whole repository.
exports_files(glob(["*", ".bazelrc", ".bazelignore", ".clang-format", ".clang-tidy"], exclude_directories = 1))

filegroup(
    name = "workspace_files",
    srcs = glob(["*", ".bazel*", ".clang*"], exclude_directories = 1) + [
        "//bazel:files",
        "//third_party:files",
    ],
    visibility = ["//visibility:public"],
)
"""


def _entry(name, size, executable):
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o755 if executable else 0o644
    info.mtime = 1577836800  # 2020-01-01
    return info


def main(listing, out):
    with open(listing, encoding="utf-8") as file:
        paths = sorted(set(file.read().split("\n")) - {"", "BUILD"})
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(_entry("BUILD", len(_TOP_BUILD), False), io.BytesIO(_TOP_BUILD))
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            # Sandboxes and caches do not keep the mode; only programs start so.
            executable = os.path.basename(path) == "dev" or data.startswith(b"#!")
            tar.addfile(_entry(path, len(data), executable), io.BytesIO(data))


if __name__ == "__main__":
    main(*sys.argv[1:])
