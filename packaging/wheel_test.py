"""The wheel is complete, quiet and keeps to itself: what a user of `pip install` gets.

It is installed into an environment that has NumPy and nothing else.
"""

import base64
import io
import pathlib
import subprocess
import venv
import zipfile

import numpy
import pytest

# Libraries that the wheel brings; another copy of each may be in the process.
_BUNDLED = ("libabsl", "libprotobuf", "libglog", "libgflags", "libdnnl", "libgomp", "libjpeg")


@pytest.fixture(scope="module")
def wheel():
    (path,) = pathlib.Path("packaging").glob("proa-*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Path of an environment with the wheel installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python3.*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    origin = pathlib.Path(numpy.__file__).parent
    for name in ("numpy", "numpy.libs"):
        if (origin.parent / name).exists():
            (site / name).symlink_to(origin.parent / name)
    return folder


def _run(environment, program):
    """Standard output of a program in the environment; it has to be silent on standard error."""
    command = [environment / "bin/python", "-I", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def _symbols(library):
    command = ["nm", "-D", "--defined-only", "--format=posix", library]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in listing.splitlines()]


def test_import_says_nothing(environment):
    assert _run(environment, "import proa") == ""


def test_computes(environment):
    program = "import proa; print((proa.to_tensor([1.0, 2.0]) * 3).tolist())"
    assert _run(environment, program) == "[3.0, 6.0]\n"


def test_brings_type_stubs(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "proa/py.typed" in names
    assert "proa/_C.pyi" in names


def test_brings_the_licences_of_what_it_holds(wheel):
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    texts = {pathlib.Path(n).stem: archive.read(n) for n in names if ".dist-info/licenses/" in n}
    assert {"liblapack-dev", "libeigen3-dev", "pybind11-dev"} <= set(texts)
    assert all(b"opyright" in text for text in texts.values())
    # Packages are named as the libraries they hold, but for their numbers: liblzma5, libgoogle-glog0v6.
    known = {"libOpenCL": "ocl-icd-libopencl", "libglog": "libgoogle-glog", "libjpeg": "libjpeg62-turbo"}
    for library in {pathlib.Path(n).name.split("-")[0].split("_")[0] for n in names if n.startswith("proa.libs/")}:
        assert any(text.startswith(known.get(library, library)) for text in texts), library


def test_brings_its_libraries(environment):
    program = """
import proa
with open("/proc/self/maps") as maps:
    for path in sorted({line.split(maxsplit=5)[5].strip() for line in maps if ".so" in line}):
        print(path)
"""
    for path in _run(environment, program).split():
        name = pathlib.Path(path).name
        if name.startswith(_BUNDLED) and "numpy" not in path:
            assert path.startswith(str(environment)), f"{path} is the system's"


def test_exports_only_its_own_symbols(environment):
    (extension,) = environment.glob("lib/python3.*/site-packages/proa/_C.*.so")
    foreign = [n for n in _symbols(extension) if "4proa" not in n and not n.startswith(("PyInit_", "proa_"))]
    assert foreign == []


def _system_library(prefix):
    found = sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(prefix + ".so*"))
    return str(found[0]) if found else pytest.skip(f"no {prefix} on this system")


@pytest.mark.parametrize("library", ["libprotobuf", "libglog", "libabsl_strings", "libdnnl"])
@pytest.mark.parametrize("proa_first", [True, False])
def test_lives_beside_another_copy(environment, library, proa_first):
    load = f"import ctypes; ctypes.CDLL({_system_library(library)!r}, mode=ctypes.RTLD_GLOBAL)"
    both = ["import proa", load] if proa_first else [load, "import proa"]
    program = "\n".join(both + ["x = proa.ones([8, 8])", "print(float(proa.matmul(x, x).sum()))"])
    assert _run(environment, program) == "512.0\n"


@pytest.mark.parametrize("proa_first", [True, False])
def test_reads_images_beside_another_copy_of_the_library(environment, proa_first):
    Image = pytest.importorskip("PIL.Image")
    memory = io.BytesIO()
    Image.new("RGB", (5, 3), (200, 100, 50)).save(memory, "JPEG", quality=95, subsampling=0)
    image = base64.b64encode(memory.getvalue()).decode()
    load = f"import ctypes; ctypes.CDLL({_system_library('libjpeg')!r}, mode=ctypes.RTLD_GLOBAL)"
    both = ["import proa", load] if proa_first else [load, "import proa"]
    read = f"x = proa.to_tensor(list(base64.b64decode('{image}')), dtype='uint8')"
    program = "\n".join(["import base64", *both, read, "print(proa.vision.ops.decode_jpeg(x).shape)"])
    assert _run(environment, program) == "[3, 3, 5]\n"
