"""Installs the peers into the environment that runs this script.

    .venv-peers/bin/python benchmarks/peers/install.py

The package index has PyTorch for Linux with its CUDA code only, and that wants GPU
libraries of gigabytes to be present. Most of them are never called on a CPU, but the
loader asks for all that are named by torch's libraries. So torch is installed without
dependencies, and of the GPU libraries those that the loader does not find.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import sysconfig

# The package that holds a library; {major} is the CUDA version torch was built for.
_PACKAGES = {
    "libcublas": "nvidia-cublas",
    "libcublasLt": "nvidia-cublas",
    "libcudart": "nvidia-cuda-runtime",
    "libcudnn": "nvidia-cudnn-cu{major}",
    "libcufft": "nvidia-cufft",
    "libcufile": "nvidia-cufile",
    "libcupti": "nvidia-cuda-cupti",
    "libcurand": "nvidia-curand",
    "libcusolver": "nvidia-cusolver",
    "libcusparse": "nvidia-cusparse",
    "libcusparseLt": "nvidia-cusparselt-cu{major}",
    "libnccl": "nvidia-nccl-cu{major}",
    "libnvJitLink": "nvidia-nvjitlink",
    "libnvToolsExt": "nvidia-nvtx",
    "libnvrtc": "nvidia-cuda-nvrtc",
    "libnvshmem_host": "nvidia-nvshmem-cu{major}",
}
# Those of which another version may lie on the machine: torch's own is installed.
_ALWAYS = {"libnccl"}


def _pip(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments], check=True
    )


def _site() -> pathlib.Path:
    return pathlib.Path(sysconfig.get_paths()["purelib"])


def _libraries(torch: pathlib.Path) -> dict[str, bool]:
    """Names of the GPU libraries that torch's libraries ask for, and whether the loader finds them."""
    found: dict[str, bool] = {}
    environment = os.environ | {"LD_LIBRARY_PATH": str(torch / "lib")}
    for library in (torch / "lib").glob("libtorch*.so"):
        out = subprocess.run(["ldd", library], capture_output=True, text=True, env=environment).stdout
        for name, where in re.findall(r"^\s*(lib\w+)\.so[.\d]* => (.*)$", out, re.MULTILINE):
            if name in _PACKAGES:
                found[name] = found.get(name, True) and "not found" not in where
    return found


def _wanted(torch: pathlib.Path) -> set[str]:
    version = next(_site().glob("torch-*.dist-info/METADATA")).read_text()
    pins = dict(re.findall(r"^Requires-Dist: (nvidia-[\w-]+)==([\w.]+)", version, re.MULTILINE))
    major = next((m.group(1) for m in (re.search(r"-cu(\d+)$", name) for name in pins) if m), "13")
    wanted = set()
    for name, present in _libraries(torch).items():
        if present and name not in _ALWAYS:
            continue
        package = _PACKAGES[name].format(major=major)
        wanted.add(package + (f"=={pins[package]}" if package in pins else ""))
    return wanted


def main() -> int:
    here = pathlib.Path(__file__).parent
    _pip("-r", str(here / "requirements.txt"))
    _pip("--no-deps", "torch")
    for _ in range(3):  # a library may ask for others
        wanted = _wanted(_site() / "torch")
        if not wanted:
            break
        _pip("--no-deps", *sorted(wanted))
    check = "import torch, paddle, jax, onnxruntime; print(torch.__version__, paddle.__version__, jax.__version__)"
    return subprocess.run([sys.executable, "-c", check]).returncode


if __name__ == "__main__":
    sys.exit(main())
