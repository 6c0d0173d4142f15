"""Every reader of files, given files that were changed: an error that says so, or a value; never another exception,
never memory beyond the class of the file's size, nothing executed, no file outside of the folder.

    python python/tests/damaged_files_test.py --mutants 1000000 [--readers "npz|cifar"]    # longer; --each: of each reader
    python python/tests/damaged_files_test.py --each 1000000 --record FILE    # goes on where it was ended, cheap ones first

READERS (file_readers.py) are all of them: test_every_module_that_opens_files finds who is missing. What a program in a
changed file computes is the matter of fuzz/programs.py; pickle_reader_test.py also says what each pickle must become.
"""

import argparse
import ast
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
import zlib

import pytest

import proa
import proa.onnx
from python.tests.file_readers import READERS, mutant
from python.tests.right_files import (
    MEMBERS,
    VOC,
    image,
    tarred,
)

# Where the package opens files, and the readers that lead there; or why there is none.
_MODULES = {
    "autograd/saved_tensors.py": "what this process wrote a moment ago",
    "dataset/common.py": "checksums; files for a function that is given",
    "dataset/packed.py": ["cifar", "imdb", "wmt14", "movielens", "voc"],
    "dataset/uci_housing.py": ["old housing"],
    "distributed/file_pieces.py": ["slots"],
    "distributed/dist_model.py": ["stages", "program"],
    "distributed/fleet/base/distributed_strategy.py": ["strategy"],
    "distributed/fleet/dataset/index_dataset.py": ["tree"],
    "distributed/simulate/costs.py": ["costs"],
    "distributed/launch/ranks.py": "the log of a rank, as bytes",
    "distributed/rpc/links.py": "a secret of this user, as bytes",
    "framework/archives.py": ["npz", "torch"],
    "framework/container.py": ["saved", "safetensors", "sharded", "npy", "pickle"],
    "framework/names.py": "own",
    "framework/serialization.py": ["program state"],
    "hugging_face/loading.py": ["hugging face"],
    "hugging_face/tokenizing.py": ["tokenizer config", "wordpiece"],
    "incubate/autotune.py": ["autotune"],
    "inference/loading.py": ["program", "reference program"],
    "jit/reference/inverse.py": "own",
    "jit/saving.py": ["program", "parameters", "reference program", "reference parameters"],
    "profiler/result.py": ["recording"],
    "static/saving.py": ["bytes of a program"],
    "static/states.py": ["bytes of a program", "program state", "fluid vars", "whole program"],
    "text/conll05.py": ["conll", "conll words", "conll tags"],
    "text/wordpiece.py": ["wordpiece"],
    "upgrade/__main__.py": "programs in Python: parsed, SyntaxError (upgrade_test)",
    "utils/cpp_extension/compiling.py": "what the compiler is given and left",
    "utils/cpp_extension/loading.py": "code, which is asked for",
    "utils/download.py": ["unpacked tar", "unpacked zip"],
    "utils/environment.py": "the kernel's",
    "utils/fetching.py": "checksums",
    "vision/datasets/mat_file.py": ["mat", "flowers"],
    "vision/datasets/mnist.py": ["mnist"],
    "vision/datasets/voc2012.py": ["voc"],
    "vision/image.py": ["image", "folder", "flowers", "old image"],
    "vision/ops/files.py": ["jpeg"],
    "vision/undecoded.py": ["part of a jpeg", "folder"],
}
_OPENING = {
    "open", "fdopen", "read_bytes", "read_text", "fromfile", "memmap", "loadtxt", "genfromtxt", "ZipFile", "GzipFile",
    "load_program", "load_extension",
}  # fmt: skip


def _opens(call):
    """Whether a call opens a file to read it."""
    function, arguments = call.func, [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    home = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name == "load":
        return home in ("np", "numpy", "_C.profiler", "pickle", "marshal")
    writes = any(isinstance(a, ast.Constant) and str(a.value)[:1] in "wax" for a in arguments)
    return name in _OPENING and not writes and home not in ("self", "archive", "self._archive")


# Changed files -------------------------------------------------------------------------------------------------------


def _files_in(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*")}


# Files that live for a moment need no disk.
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
_SECONDS = 20  # of the processor, for one file
_GROWTH = 100 << 10  # KiB, in one run


def _hangs(*_):
    raise AssertionError(f"reads for {_SECONDS} s")


def fuzz(name, count, seed):
    """(mutants that were read, seconds of the slowest, growth of the process in KiB); raises for what must not be."""
    reader, rng = READERS[name], random.Random(f"{name} {seed}")
    accepted, slowest = 0, 0.0
    signal.signal(signal.SIGVTALRM, _hangs)
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
        path = os.path.join(folder, reader.file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for data in [*reader.seeds] + [reader.pack(m) for m in reader.members if reader.pack]:
            pathlib.Path(path).write_bytes(data)
            reader.read(path)
        inside = _files_in(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(count):
            data = mutant(rng, reader)
            os.unlink(path)
            pathlib.Path(path).write_bytes(data)
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
            try:
                reader.read(path)
                accepted += 1
            except reader.errors:
                pass
            except Exception as error:
                raise AssertionError(f"mutant {i} of {name}, seed {seed}: {error!r} for {data[:300]!r}") from error
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            slowest = max(slowest, time.perf_counter() - start)
        assert _files_in(folder) == inside, f"{name} left {_files_in(folder) - inside}"
    assert not os.path.exists("/tmp/proa_evil")
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert growth < _GROWTH, f"{name}, seed {seed}: the process grew by {growth} KiB"
    return accepted, slowest, growth


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore")
def test_mutants(name, capfd):
    accepted, _, _ = fuzz(name, 200, seed=3)
    assert accepted < 200, "no change was noticed"
    # Libraries like to print what they tell their caller as well.
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["folder", "old image"])
def test_an_image_that_is_cut_off(name, tmp_path):
    """Found by mutants: Pillow's own OSError, without the name of the file, when the pixels were converted later."""
    path = tmp_path / READERS[name].file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(image("png", "L")[:60])
    with pytest.raises(ValueError, match=f"{path.name}: no whole image"):
        READERS[name].read(str(path))


@pytest.mark.parametrize("width", [8000, 70000])
def test_an_image_of_voc_that_says_it_is_large(width, tmp_path):
    """Found by mutants: Pillow's DecompressionBombError; below its limit, memory for pixels that are not there."""
    png = image("png", "L")
    head = b"IHDR" + struct.pack(">2I", width, width) + png[24:29]
    png = png[:12] + head + struct.pack(">I", zlib.crc32(head)) + png[33:]
    (tmp_path / "v.tar").write_bytes(tarred({**MEMBERS["voc"], f"{VOC}/SegmentationClass/a.png": png}, "w"))
    with pytest.raises(ValueError, match="v.tar: .* is no image"):
        READERS["voc"].read(str(tmp_path / "v.tar"))


@pytest.mark.parametrize("text", [b"9", b"[1]", b"null", b"[" * 100000])
def test_a_strategy_that_is_no_dict(text, tmp_path):
    """Found by mutants: an AttributeError."""
    (tmp_path / "s").write_bytes(text)
    with pytest.raises(ValueError, match="not written by save_to_prototxt"):
        READERS["strategy"].read(str(tmp_path / "s"))


@pytest.mark.parametrize("text", [b'{"kernel": 7}', b'{"dataloader": false}'])
def test_settings_that_are_no_dict(text, tmp_path):
    """Found by mutants: an AttributeError."""
    (tmp_path / "tune.json").write_bytes(text)
    with pytest.raises(TypeError, match="set_config: (kernel|dataloader) must be a dict, not"):
        READERS["autotune"].read(str(tmp_path / "tune.json"))


@pytest.mark.parametrize("rows, columns", [(0, 0x4E9D3960), (0x4E9D3960, 0), (0, 0)])
def test_pictures_without_pixels(rows, columns, tmp_path):
    """Found by mutants: a MemoryError for pictures of 0 by 1,318,926,688 pixels."""
    path = tmp_path / READERS["mnist"].file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(struct.pack(">4I", 0x803, 3, rows, columns))
    with pytest.raises(ValueError, match="3 items without a byte"):
        READERS["mnist"].read(str(path))


def test_every_module_that_opens_files():
    package = pathlib.Path(proa.__file__).parent
    files = [pathlib.Path(at, name) for at, _, names in os.walk(package, followlinks=True) for name in names]
    found = {
        str(path.relative_to(package))
        for path in files
        if path.suffix == ".py"
        and any(isinstance(node, ast.Call) and _opens(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found == set(_MODULES), sorted(found ^ set(_MODULES))
    reached = {name for names in _MODULES.values() if not isinstance(names, str) for name in names}
    assert reached <= set(READERS), reached - set(READERS)


# Longer -------------------------------------------------------------------------------------------------------------


def _cheapest_first(names):
    """In order of what a mutant costs; and a warm-up, so that what is imported at a first use is no growth."""
    seconds = {}
    for name in names:
        start = time.process_time()
        fuzz(name, 100, seed=0)
        seconds[name] = time.process_time() - start
    return sorted(names, key=seconds.get)


def _write(path, record):
    pathlib.Path(path + ".new").write_text(json.dumps(record, indent=1))
    os.replace(path + ".new", path)


def _long(options):
    """Rounds of a chunk each; the record says how many mutants each reader had, and of which seeds."""
    chosen = [name for name in READERS if re.search(options.readers, name)]
    record = {}
    if options.record and os.path.exists(options.record):
        record = json.loads(pathlib.Path(options.record).read_text())
    status, wanted = 0, options.each or options.mutants // len(chosen)
    for name in _cheapest_first(chosen):
        had = record.setdefault(name, {"mutants": 0, "read": 0, "slowest": 0.0, "seeds": 0, "findings": []})
        while had["mutants"] < wanted:
            seed, count = f"{options.seed}.{had['seeds']}", min(options.chunk, wanted - had["mutants"])
            had["seeds"] += 1
            try:
                figures = fuzz(name, count, seed)
                had["mutants"] += count
                had["read"] += figures[0]
                had["slowest"] = max(had["slowest"], round(figures[1], 3))
                print("%-20s %d files, read %d, slowest %.3f s, grew by %d KiB" % (name, count, *figures), flush=True)
            except AssertionError as error:
                status = 1
                had["findings"].append(f"{error} {error.__cause__!r}"[:1000])
                print(error, repr(error.__cause__), flush=True)
                if not options.go_on:
                    return status
                if len(had["findings"]) % 20 == 0:
                    break  # the rest of this reader would say the same
            finally:
                if options.record:
                    _write(options.record, record)
    return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=1000000, help="of all readers together")
    parser.add_argument("--readers", default=".", help="a regular expression")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--go-on", action="store_true", help="with the next chunk after a finding")
    parser.add_argument("--each", type=int, help="mutants of each reader, instead")
    parser.add_argument("--chunk", type=int, default=20000, help="mutants between two lines of the record")
    parser.add_argument("--record", help="a file of how far each reader came, from which the next run goes on")
    parser.add_argument("--memory", type=float, help="GiB of addresses that the process may take")
    chosen_options = parser.parse_args()
    if chosen_options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(chosen_options.memory * 2**30),) * 2)
    warnings.simplefilter("ignore")
    sys.exit(_long(chosen_options))
