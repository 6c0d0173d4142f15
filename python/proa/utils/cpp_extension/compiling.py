"""Compiles extensions, and keeps what it compiled by the contents of all that went in."""

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile

from proa import _C

__all__ = ["compile_library", "get_build_directory", "include_folder"]

_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-Wno-attributes"]


def get_build_directory(verbose=False):
    """The folder in which `load` keeps what it built: `PADDLE_EXTENSION_DIR` or `PROA_EXTENSION_DIR`, else one in the user's cache.

    Args:
        verbose (bool): print it.

    Examples:
        >>> type(proa.utils.cpp_extension.get_build_directory()).__name__
        'str'
    """
    folder = os.environ.get("PROA_EXTENSION_DIR") or os.environ.get("PADDLE_EXTENSION_DIR")
    if not folder:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = os.path.join(cache, "proa", "extensions")
    os.makedirs(folder, exist_ok=True)
    if verbose:
        print(f"extensions are built in {folder}")
    return folder


def include_folder():
    """The folder of proa/extension.h."""
    from proa import sysconfig

    folder = sysconfig.get_include()
    if not os.path.isfile(os.path.join(folder, "proa", "extension.h")):
        raise _C.located(
            RuntimeError(
                f"cpp_extension: the headers are missing, there is no {folder}/proa/extension.h; install the wheel"
            )
        )
    return folder


def compiler():
    """The C++ compiler: `CXX`, else c++, g++ or clang++."""
    named = os.environ.get("CXX")
    for name in shlex.split(named)[:1] if named else ("c++", "g++", "clang++"):
        found = shutil.which(name)
        if found:
            return [found, *(shlex.split(named)[1:] if named else [])]
    what = f"CXX is {named!r}, which is not there" if named else "none of c++, g++, clang++ is there"
    raise _C.located(RuntimeError(f"cpp_extension: a C++17 compiler is needed; {what} (apt install g++)"))


def _digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def _key(command, sources, flags, link_flags):
    h = hashlib.sha256()
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    for part in (version, *command, "//", *flags, "//", *link_flags):
        h.update(part.encode() + b"\0")
    for source in sources:
        h.update(source.encode() + b"\0" + _digest(source).encode())
    return h.hexdigest()[:24]


def _dependencies(path):
    """The files that a makefile of the compiler names."""
    with open(path) as f:
        text = f.read().replace("\\\n", " ")
    return [p.replace("\0", " ") for p in text.partition(":")[2].replace("\\ ", "\0").split()]


def _kept(folder, key):
    """What was built from the same contents; None if there is nothing."""
    try:
        with open(os.path.join(folder, f"{key}.json")) as f:
            built = json.load(f)
        library = os.path.join(folder, built["library"])
        same = all(_digest(path) == digest for path, digest in built["dependencies"].items())
        return library if same and os.path.isfile(library) else None
    except (OSError, ValueError, KeyError):
        return None


@contextlib.contextmanager
def _locked(folder):
    """One process at a time builds here."""
    with open(os.path.join(folder, ".lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def _run(commands, name, verbose):
    """Runs commands at the same time, as many as there are processors; what the first that fails says is the error."""
    waiting, running = list(commands), []
    limit = len(os.sched_getaffinity(0))
    failed = None
    while waiting or running:
        while waiting and len(running) < limit and failed is None:
            command = waiting.pop(0)
            if verbose:
                print(shlex.join(command), flush=True)
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            running.append((command, process))
        if failed is not None:
            waiting.clear()
        if not running:
            break
        command, process = running.pop(0)
        output = process.communicate()[0]
        if verbose and output:
            print(output, flush=True)
        if process.returncode != 0 and failed is None:
            failed = (command, output)
    if failed is not None:
        command, output = failed
        raise _C.located(
            RuntimeError(f"{name}: {os.path.basename(command[0])} failed\n{output.rstrip()}\n{shlex.join(command)}")
        )


def _checked(name, sources):
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    sources = [os.path.abspath(os.fspath(s)) for s in sources]
    if not sources:
        raise _C.located(ValueError(f"{name}: there are no sources"))
    for source in sources:
        if source.endswith((".cu", ".cuh")):
            raise _C.located(
                NotImplementedError(f"{name}: {source} is CUDA, and this build of Proa has none; give C++ sources")
            )
        if not os.path.isfile(source):
            raise _C.located(FileNotFoundError(f"{name}: there is no file {source}"))
    return sources


def compile_library(name, sources, folder, flags=(), link_flags=(), include_paths=(), verbose=False):
    """Builds the shared library of an extension, unless it is there from the same contents.

    Args:
        name (str): of the extension.
        sources (list[str]): C++ files.
        folder (str): where it is kept.
        flags, link_flags, include_paths (list[str]): for the compiler, after its own.
        verbose (bool): print the commands and what the compiler says.

    Returns:
        str: the path of the library.

    Raises:
        RuntimeError: what the compiler says; or there is no compiler.
        FileNotFoundError: a source that is not there.
        NotImplementedError: a source of CUDA.
    """
    sources = _checked(name, sources)
    command = compiler()
    includes = [f"-I{p}" for p in (include_folder(), *include_paths)]
    compile_flags = [*_FLAGS, *includes, *flags]
    os.makedirs(folder, exist_ok=True)
    key = _key(command, sources, compile_flags, link_flags)
    kept = _kept(folder, key)
    if kept is not None:
        return kept
    with _locked(folder), tempfile.TemporaryDirectory(dir=folder, prefix=".build") as work:
        kept = _kept(folder, key)  # by another process, meanwhile
        if kept is not None:
            return kept
        objects = [os.path.join(work, f"{i}.o") for i in range(len(sources))]
        _run(
            [[*command, *compile_flags, "-MMD", "-MF", f"{o}.d", "-c", s, "-o", o] for s, o in zip(sources, objects)],
            name, verbose,
        )  # fmt: skip
        library = os.path.join(work, "library.so")
        _run([[*command, "-shared", *objects, *link_flags, "-o", library]], name, verbose)
        found = {path for o in objects for path in _dependencies(f"{o}.d")}
        dependencies = {os.path.abspath(path): _digest(path) for path in sorted(found)}
        contents = hashlib.sha256(json.dumps([key, dependencies]).encode()).hexdigest()[:16]
        built = {"library": f"{name}-{contents}.so", "dependencies": dependencies}
        os.replace(library, os.path.join(folder, built["library"]))
        description = os.path.join(work, "built.json")
        with open(description, "w") as f:
            json.dump(built, f)
        os.replace(description, os.path.join(folder, f"{key}.json"))
        return os.path.join(folder, built["library"])
