"""What a bug report needs to say of the machine and this build."""

import importlib.metadata
import os
import platform
import sys

from proa import _C
from proa.framework import flags

# Beginnings of the names of variables that change what this package does.
_VARIABLES = ("FLAGS_", "PROA_", "OMP_", "GOMP_", "KMP_", "DNNL_", "ONEDNN_", "MKL_", "OPENBLAS_", "MALLOC_", "LD_")
_FEATURES = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16",
             "amx_tile", "amx_bf16", "amx_int8")  # fmt: skip


def _first_line(path, beginning):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith(beginning):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def has_cpu_flag(name):
    """Whether the CPU has what /proc/cpuinfo calls so."""
    return name in _first_line("/proc/cpuinfo", "flags").split()


def _memory():
    figures = [_first_line("/proc/meminfo", name) for name in ("MemTotal", "MemAvailable")]
    total, free = (f"{int(f.split()[0]) / 2**20:.1f} GiB" if f else "unknown" for f in figures)
    text = f"{total}, {free} available"
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as stream:
                limit = stream.read().strip()
        except OSError:
            continue
        if limit.isdigit() and int(limit) < 1 << 60:
            text += f", limit {int(limit) / 2**30:.1f} GiB"
    return text


def _loaded(*names):
    """Files of libraries in this process whose names hold one of `names`."""
    found = set()
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                path = line.split(maxsplit=5)[-1].strip()
                if ".so" in path and any(name in os.path.basename(path) for name in names):
                    found.add(path)
    except OSError:
        pass
    return sorted(found)


def _version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def facts():
    """The facts, as a dict of texts by their names."""
    from proa import version

    build = _C.debug.build_info()
    cpu_flags = set(_first_line("/proc/cpuinfo", "flags").split())
    here = _C.memory_figures()
    return {
        "proa": f"{version.full_version}, commit {getattr(version, 'commit', 'unknown')}",
        "built with": f"{build['compiler']}, C++{str(build['c++'])[2:4]}",
        "python": f"{platform.python_version()} ({sys.executable}), numpy {_version_of('numpy')}",
        "system": f"{platform.platform()}, {'-'.join(platform.libc_ver()) or 'unknown libc'}",
        "cpu": f"{_first_line('/proc/cpuinfo', 'model name') or platform.processor()}, {os.cpu_count()} CPUs, "
        f"{build['cpus']} usable",
        "cpu flags": " ".join(name for name in _FEATURES if name in cpu_flags) or "unknown",
        "instruction set": build["instruction_set"],
        "threads": str(_C.get_num_threads()),
        "memory": f"{_memory()}; tensors {here['allocated'] / 2**20:.1f} MiB, at most {here['peak_allocated'] / 2**20:.1f}, "
        f"held {here['reserved'] / 2**20:.1f}",
        "oneDNN": build["onednn"],
        "OpenMP": ", ".join(_loaded("libgomp", "libomp", "libiomp")) or "none loaded",
        "BLAS": f"none used; products by oneDNN and Eigen {build['eigen']}"
        + (f"; loaded besides: {', '.join(others)}" if (others := _loaded("blas", "libmkl")) else ""),
        "device": _C.get_device(),
        "flags": ", ".join(f"{name}={value!r}" for name, value in flags.changed().items()) or "all at their defaults",
        "environment": ", ".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES))
        or "nothing set",
    }


def report():
    """One block of text for bug reports: versions, CPU, threads, memory, libraries, flags, environment."""
    found = facts()
    width = max(map(len, found))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in found.items())


if __name__ == "__main__":
    print(report())
