"""A missing system package or toolkit stops the build with one sentence that says what to do."""

import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

_BROKEN = """
load("//third_party:system.bzl", "system_repository")

system_repository(
    name = "nosuch",
    build_file = "//third_party/eigen:eigen.BUILD",
    links = {"/usr/include/nosuch.h": "include/nosuch.h"},
    package = "libnosuch-dev",
)
"""


@pytest.fixture(scope="module")
def bazel(tmp_path_factory):
    """Runs Bazel in an unpacked archive whose WORKSPACE asks for a library that nobody has."""
    folder = tmp_path_factory.mktemp("missing")
    workspace = folder / "workspace"
    with tarfile.open("bazel/testing/dist.tar") as tar:
        tar.extractall(workspace)
    with open(workspace / "WORKSPACE", "a", encoding="utf-8") as file:
        file.write(_BROKEN)
    venv = pathlib.Path(sys.executable).parent.parent
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.path.expanduser("~"), "PROA_VENV": str(venv)}

    def run(*arguments):
        command = ["bazel", "--batch", f"--output_base={folder}/out", "build", "--noshow_progress", *arguments]
        result = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True)
        assert result.returncode != 0
        return result.stderr

    yield run
    # Bazel's folders are read-only.
    subprocess.run(["chmod", "-R", "u+w", folder], check=False)


def test_package(bazel):
    assert (
        "@nosuch: /usr/include/nosuch.h is missing; "
        "install it with: apt-get install -y --no-install-recommends libnosuch-dev\n"
    ) in bazel("@nosuch//:eigen")


def test_cuda_toolkit(bazel):
    printed = bazel("--repo_env=CUDA_PATH=/none", "--config=cuda", "@local_cuda//:cublas")
    assert "@local_cuda//:cublas needs the CUDA toolkit, and /none/bin/nvcc is missing; install it" in printed


def test_virtual_environment(bazel):
    printed = bazel("--repo_env=PROA_VENV=/none", "@local_python//:headers")
    assert "@local_python: /none/bin/python is missing; make it with: ./dev setup\n" in printed
