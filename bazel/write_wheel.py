"""Writes a wheel with the standard library only; equal contents give equal bytes.

Called by bazel/wheel.bzl. Format: PEP 427, metadata 2.1.
"""

import argparse

from bazel import wheel_file


def _metadata(args):
    lines = ["Metadata-Version: 2.1", "Name: " + args.name, "Version: " + args.version]
    lines += ["Requires-Dist: " + r for r in args.requires]
    lines += ["Requires-Python: >=3.11", "Description-Content-Type: text/markdown", ""]
    with open(args.readme, encoding="utf-8") as readme:
        return "\n".join(lines) + "\n" + readme.read()


def main():
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    for flag in ("out", "name", "version", "tag", "readme"):
        parser.add_argument("--" + flag, required=True)
    for flag in ("file", "requires", "script"):
        parser.add_argument("--" + flag, action="append", default=[])
    args = parser.parse_args()

    writer = wheel_file.Writer(args.out)
    for pair in sorted(args.file, key=lambda s: s.split("=", 1)[1]):
        source, name = pair.split("=", 1)
        with open(source, "rb") as file:
            writer.add(name, file.read())
    info = f"{args.name}-{args.version}.dist-info"
    writer.add(info + "/METADATA", _metadata(args).encode())
    wheel = f"Wheel-Version: 1.0\nGenerator: proa\nRoot-Is-Purelib: false\nTag: {args.tag}\n"
    writer.add(info + "/WHEEL", wheel.encode())
    if args.script:
        scripts = "[console_scripts]\n" + "".join(s.replace("=", " = ", 1) + "\n" for s in args.script)
        writer.add(info + "/entry_points.txt", scripts.encode())
    writer.close(info + "/RECORD")


if __name__ == "__main__":
    main()
