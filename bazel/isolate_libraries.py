"""Gives the symbols of bundled shared libraries names of their own.

A library in a wheel has its own file name (auditwheel sees to that), but not its own
symbols: if the process has loaded another copy of, say, protobuf for all to see, the
dynamic linker binds ours to that one, whatever its version. So every symbol that a
bundled library defines gets a prefix, in all files of the wheel that name it.
"""

import os
import subprocess
import tempfile

_PREFIX = "proa_bundled_"

# The C and C++ runtime: never bundled, always shared.
_RUNTIME = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2")
_RUNTIME_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")

# Bundled libraries left as they are: their symbols carry versions, and others in the
# process (another OpenMP program) may well share them.
_SHARED = ("libgomp", "libunwind", "liblzma", "libOpenCL")


def _symbols(path, which):
    """Names in the dynamic symbol table; `which` is --defined-only or --undefined-only."""
    command = ["nm", "-D", which, "--format=posix", path]
    listing = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[0].split("@")[0] for line in listing.splitlines()}


def _runtime_symbols():
    found = set()
    for name in _RUNTIME:
        path = next((f"{d}/{name}" for d in _RUNTIME_FOLDERS if os.path.exists(f"{d}/{name}")), None)
        if path:
            found |= _symbols(path, "--defined-only")
    return found


def isolate(folder, patchelf):
    """Renames symbols in all shared libraries below `folder`, an unpacked wheel.

    Args:
      folder: path of the folder.
      patchelf: path of a patchelf that knows --rename-dynamic-symbols (0.18 or later).
    """
    files = [os.path.join(d, n) for d, _, names in os.walk(folder) for n in names if ".so" in n]
    bundled = [f for f in files if ".libs" + os.sep in f and not os.path.basename(f).startswith(_SHARED)]
    mine = set()
    for path in bundled:
        mine |= _symbols(path, "--defined-only")
    mine -= _runtime_symbols()
    for path in files:
        names = sorted(mine & (_symbols(path, "--defined-only") | _symbols(path, "--undefined-only")))
        if not names:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".map") as file:
            file.writelines(f"{name} {_PREFIX}{name}\n" for name in names)
            file.flush()
            subprocess.run([patchelf, "--rename-dynamic-symbols", file.name, path], check=True)
