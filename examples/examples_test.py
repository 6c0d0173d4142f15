"""Each example runs with --quick; the digits' model says the same in C++ as in Python."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import proa

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name, file="train.py"):
    spec = importlib.util.spec_from_file_location(f"{name}_train", os.path.join(HERE, name, file))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["linear_regression", "lstm", "char_transformer"])
def test_example(name, capsys):
    assert load(name).main(["--quick"]) == 0
    assert "Traceback" not in capsys.readouterr().out


@pytest.mark.parametrize("way", ["--mp", "--pp", "--sharding", "--dp"])
def test_gpt_on_two_ranks(way, tmp_path):
    """It learns, goes on from a checkpoint when a rank is killed, and ends as if nothing had happened."""
    script = os.path.join(HERE, "gpt_parallel", "train.py")
    losses = []
    for folder in ("a", "b") if way == "--mp" else ("a",):
        flags = ["--nproc_per_node", "2", "--max_restart", "1", "--log_dir", str(tmp_path / f"logs_{folder}")]
        more = ["--quick", way, "2", "--checkpoint", str(tmp_path / folder)]
        job = subprocess.Popen(
            [sys.executable, "-m", "proa.distributed.launch", *flags, script, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        )
        if folder == "b":
            while not (tmp_path / "b" / "step_50" / "manifest.json").exists():
                assert job.poll() is None
                time.sleep(0.05)
            ranks = subprocess.run(
                ["pgrep", "-f", f"train.py.*{tmp_path / 'b'}"], capture_output=True, text=True, check=True
            ).stdout.split()
            os.kill(max(int(pid) for pid in ranks if int(pid) != job.pid), signal.SIGKILL)
        out, err = job.communicate(timeout=120)
        assert job.returncode == 0, out + err
        assert ("start 2 of at most 2" in err) == (folder == "b"), err
        losses.append(re.findall(r"^step 150: loss (\S+),", out, re.M)[-1])
    assert len(set(losses)) == 1


def _gpt(arguments, ranks, capsys):
    """The losses that training on some ranks, which are threads, prints for its steps."""
    from proa.distributed.groups import run_threads

    module = load("gpt_parallel")
    capsys.readouterr()
    run_threads(lambda: module.main(["--quick", "--every", "1", *arguments]), ranks)
    return [float(loss) for loss in re.findall(r"^step \d+: .*of this batch (\S+)", capsys.readouterr().out, re.M)]


@pytest.fixture(scope="module")
def gpt_starts(tmp_path_factory):
    """A checkpoint of one process after a step, with and without experts: what all ways go on from."""
    return {count: tmp_path_factory.mktemp(f"gpt_{count}") for count in (0, 4)}


@pytest.mark.parametrize(
    "ranks, way",
    [
        (2, "--mp 2"),
        (2, "--mp 2 --sequence"),
        (2, "--pp 2 --merge 8"),
        (2, "--pp 2 --chunks 2"),
        (2, "--sharding 2 --stage 2 --merge 2"),
        (2, "--sharding 2 --stage 3 --recompute"),
        (2, "--merge 4"),
        (2, "--experts 4"),
        (2, "--amp O1"),
        (2, "--sharding 2 --amp O2"),
        (4, "--mp 2 --sequence --pp 2 --recompute"),
        (4, "--mp 2 --sharding 2 --stage 3"),
        (4, "--dp 2 --sharding 2 --stage 2 --amp O1"),
        (4, "--pp 2 --sharding 2 --stage 2 --amp O1"),
        (4, "--experts 4 --merge 2 --recompute"),
        (2, "--mp 2 --experts 4"),
        (4, "--mp 2 --experts 4"),
        (4, "--pp 2 --experts 4"),
        (4, "--sharding 2 --experts 4"),
        (4, "--mp 2 --sequence --experts 4"),
    ],
)
def test_gpt_in_all_ways(ranks, way, gpt_starts, tmp_path, capsys):
    """From the weights of one process, any combination has its losses."""
    experts = 4 if "experts" in way else 0
    start = gpt_starts[experts]
    same = ["--experts", str(experts)]
    if not os.listdir(start):
        _gpt([*same, "--steps", "1", "--checkpoint", str(start)], 1, capsys)
    losses = {}
    for name, count, flags in (("one", 1, same), ("several", ranks, way.split())):
        shutil.copytree(start, tmp_path / name)
        losses[name] = _gpt([*flags, "--steps", "5", "--checkpoint", str(tmp_path / name)], count, capsys)
    assert len(losses["one"]) == 4 and losses["one"][-1] < losses["one"][0]
    assert losses["several"] == pytest.approx(losses["one"], rel=2e-2 if "amp" in way else 2e-4)


@pytest.mark.parametrize("way", ["--sequence", "--chunks 2"])
def test_gpt_refuses(way, capsys):
    with pytest.raises(SystemExit):
        load("gpt_parallel").main(way.split())
    assert f"error: {way.split()[0]}" in capsys.readouterr().err


def test_onnx(tmp_path, capsys):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    assert load("onnx", "export.py").main(["--quick", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    [accuracy] = re.findall(r"accuracy in ONNX Runtime (\S+)", output)
    assert float(accuracy) > 0.7
    [(difference, of)] = re.findall(r"difference from Proa (\S+) of (\S+)", output)
    assert float(difference) < 1e-4 * float(of)


def test_serving(tmp_path, capsys, monkeypatch):
    pytest.importorskip("aiohttp")
    pytest.importorskip("prometheus_client")
    path = str(tmp_path / "net")
    proa.jit.save(proa.nn.Linear(3, 2), path, [proa.static.InputSpec([None, 3], "float32", "x")])
    command = [sys.executable, "-m", "proa.inference.serve", path, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = server.stdout.readline().split()[-1]
        monkeypatch.setattr(sys, "argv", ["client.py", "--url", url, "--model", "net", "--rows", "5"])
        client = load("serving", "client.py")
        client.main()
        assert re.match(r"output_0 \[5, 2\]: \[", capsys.readouterr().out)
        with pytest.raises(RuntimeError, match=r"\(400\): input 'x': the model takes the shape"):
            client.Client(url, "net").infer({"x": [[1, 2]]})
    finally:
        server.terminate()
        assert server.wait(60) == 0


@pytest.mark.parametrize(
    "name, picture",
    [
        ("autoencoder", "autoencoder"),
        ("detection", "detection"),
        ("dqn", "dqn"),
        ("gan", "gan"),
        ("segmentation", "segmentation"),
        ("text_classifier", "text"),
        ("translation", "translation"),
        ("word2vec", "words"),
    ],
)
def test_example_with_a_picture(name, picture, tmp_path, capsys):
    """It learns what it says, and draws: many colours, not one."""
    from matplotlib import image

    folder = tmp_path / "made" / "anew"
    assert load(name).main(["--quick", "--out", str(folder)]) == 0, capsys.readouterr().out
    pixels = image.imread(folder / f"{picture}.png")
    assert min(pixels.shape[:2]) > 300 and len(set(map(tuple, pixels[::5, ::5, :3].reshape(-1, 3).tolist()))) > 20


def test_digits(tmp_path, capsys):
    assert load("digits").main(["--quick", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "held-out accuracy" in output and "step 23/23 [====" in output
    assert {"digits.pdiparams", "digits.pdmodel", "digits.png"} <= set(os.listdir(tmp_path))
    with open(tmp_path / "digits.png", "rb") as stream:
        assert stream.read(8) == b"\x89PNG\r\n\x1a\n"
    program = os.path.join(HERE, "digits", "predict")
    if not os.path.exists(program):
        pytest.skip("the C++ program is built by Bazel")
    run = subprocess.run(
        [program, str(tmp_path / "digits"), str(tmp_path / "samples.bin")], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1] == (tmp_path / "samples.txt").read_text().strip()


def test_profile_any_program(tmp_path, capsys):
    assert load("profile_any_program", "profile.py").main(["--quick", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "sort the rest" in output and "of 3 threads are in" in output
    files = {"trace.json.gz", "trace.perfetto-trace", "stacks.txt", "report.html", "profile.pb"}
    assert files == set(os.listdir(tmp_path))
    # Whichever thread got there first.
    assert re.search(r"^sorter \d;list of ", (tmp_path / "stacks.txt").read_text(), re.M)


def test_types(tmp_path):
    """What a type checker says of the examples and of what they use of the package: nothing."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--check-untyped-defs", "--follow-imports=silent"]
    command += ["--explicit-package-bases", "--disable-error-code=import-untyped", "--cache-dir", str(tmp_path)]
    packages = os.path.dirname(os.path.dirname(proa.__file__))
    files = [os.path.join(root, f) for root, _, found in os.walk(HERE) for f in found if f.endswith(".py")]
    assert len(files) >= 16
    run = subprocess.run(
        command + files, capture_output=True, text=True, cwd=HERE, env={**os.environ, "MYPYPATH": f"{HERE}:{packages}"}
    )
    assert run.stdout + run.stderr == ""
