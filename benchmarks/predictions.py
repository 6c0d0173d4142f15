"""What a prediction costs: Proa's predictor beside the engines that people deploy with.

    python benchmarks/predictions.py [--work "resnet;bert"] [--rounds 3] [--threads 2] [--json FILE [--resume]]

Each engine runs in its own process, by turns (side_by_side.py). OpenVINO and ONNX Runtime read the ONNX file that Proa
exports of the network, PyTorch compiles the same definition with frozen weights (`torch.compile`), PaddlePaddle reads what
it saved itself. All compute in float32, unless the row says bfloat16. Arrays go in, which engines that can (all but
PaddlePaddle) read where they lie, and come out. Times are milliseconds, the median of the runs of a process after warming up;
peak memory is that of the process, loading included. A run of a decoder is one token for each row: 1000 by it are tokens in a
second.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

import networks
import numpy as np
import predicting_networks
import side_by_side
from predictions_section import ENGINES


@dataclasses.dataclass
class Row:
    network: str
    shape: tuple[int, ...]
    words: int = 0  # the input is words, of so many
    dtype: str = "float32"
    cache: tuple[int, ...] = ()  # the shape of a second input, keys and values of a decoder


WORK = {
    "ResNet-50, batch 1": Row("resnet50", (1, 3, 224, 224)),
    "ResNet-50, batch 32": Row("resnet50", (32, 3, 224, 224)),
    "MobileNet v1, batch 1": Row("mobilenet", (1, 3, 224, 224)),
    "MobileNet v1, batch 32": Row("mobilenet", (32, 3, 224, 224)),
    "MobileNet v3, batch 1": Row("mobilenet_v3", (1, 3, 224, 224)),
    "MobileNet v3, batch 32": Row("mobilenet_v3", (32, 3, 224, 224)),
    "VGG-16, batch 1": Row("vgg16", (1, 3, 224, 224)),
    "VGG-16, batch 8": Row("vgg16", (8, 3, 224, 224)),
    "BERT-base, batch 1 of 128": Row("bert", (1, 128), 30522),
    "BERT-base, batch 8 of 128": Row("bert", (8, 128), 30522),
    "GPT-2 decode, batch 1 after 128": Row("gpt2_decoder", (1, 1), 50257, cache=(24, 1, 128, 12, 64)),
    "GPT-2 decode, batch 8 after 128": Row("gpt2_decoder", (8, 1), 50257, cache=(24, 8, 128, 12, 64)),
    "LSTM tagger, batch 1 of 40": Row("tagger", (1, 40), 20000),
    "LSTM tagger, batch 32 of 40": Row("tagger", (32, 40), 20000),
    "Text detector, 640 x 640": Row("text_detector", (1, 3, 640, 640)),
    "CRNN, batch 8 of 32 x 320": Row("crnn", (8, 3, 32, 320)),
    "bfloat16: ResNet-50, batch 1": Row("resnet50", (1, 3, 224, 224), dtype="bfloat16"),
    "bfloat16: ResNet-50, batch 32": Row("resnet50", (32, 3, 224, 224), dtype="bfloat16"),
    "bfloat16: BERT-base, batch 8 of 128": Row("bert", (8, 128), 30522, "bfloat16"),
}


def network(a: networks.Api, row: Row):
    """Of seeded weights."""
    (a.lib.manual_seed if isinstance(a, networks.TorchApi) else a.lib.seed)(1)
    home = networks if hasattr(networks, row.network) else predicting_networks
    net = getattr(home, row.network)(a)
    net.eval()
    return net


def inputs(row: Row) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    if row.words:
        given = [rng.integers(0, row.words, row.shape)]
    else:
        given = [rng.standard_normal(row.shape).astype(np.float32)]
    if row.cache:
        given.append(rng.standard_normal(row.cache).astype(np.float32))
    return given


def specs(a: networks.Api, row: Row) -> list:
    """Of the inputs; the batch is open, but for decoders."""
    kind = "int64" if row.words else "float32"
    InputSpec = a.lib.static.InputSpec
    if row.cache:
        return [InputSpec(list(row.shape), kind, "x"), InputSpec(list(row.cache), "float32", "cache")]
    return [InputSpec([None, *row.shape[1:]], kind, "x")]


def write(row: Row, folder: str) -> None:
    """Proa's program, and the ONNX file, for the engines to read."""
    a = networks.api("proa")
    net = network(a, row)
    a.lib.jit.save(net, folder + "/net", specs(a, row))
    a.lib.onnx.export(net, folder + "/net", specs(a, row))


def _proa(row: Row, folder: str, threads: int):
    import proa

    config = proa.inference.Config(folder + "/net.pdmodel", folder + "/net.pdiparams")
    config.set_cpu_math_library_num_threads(threads)
    if row.dtype == "bfloat16":
        config.enable_mkldnn_bfloat16()
    predictor = proa.inference.create_predictor(config)
    return lambda *given: [result.numpy() for result in predictor.run(list(given))][0]


def _by_handles(predictor, names):
    """Every input goes in and every result comes out; gives the first."""
    sources = [predictor.get_input_handle(name) for name in names]
    results = [predictor.get_output_handle(name) for name in predictor.get_output_names()]

    def run(*given):
        for source, x in zip(sources, given):
            source.copy_from_cpu(x)
        predictor.run()
        return [result.copy_to_cpu() for result in results][0]

    return run


def _openvino(row: Row, folder: str, threads: int):
    import openvino

    core = openvino.Core()
    precision = "bf16" if row.dtype == "bfloat16" else "f32"
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    compiled = core.compile_model(core.read_model(folder + "/net.onnx"), "CPU", settings)
    request = compiled.create_infer_request()
    return lambda *given: request.infer(list(given), share_inputs=True)[compiled.output(0)]


def _onnxruntime(row: Row, folder: str, threads: int):
    import onnxruntime

    if row.dtype != "float32":
        raise SystemExit("no bfloat16 on CPUs")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(folder + "/net.onnx", options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return lambda *given: session.run(None, dict(zip(names, given)))[0]


def _torch(row: Row, folder: str, threads: int):
    import torch
    import torch._inductor.config

    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    net = network(networks.api("torch"), row)
    if len(row.shape) == 4:
        net = net.to(memory_format=torch.channels_last)
    compiled = torch.compile(net)
    low = row.dtype == "bfloat16"

    def run(*given):
        tensors = [torch.from_numpy(x) for x in given]
        tensors = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in tensors]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=low):
            results = compiled(*tensors)
        return [t.float().numpy() for t in (results if row.cache else [results])][0]

    return run


def _paddle(row: Row, folder: str, threads: int):
    import paddle

    net = network(networks.api("paddle"), row)
    path = folder + "/paddle"
    paddle.jit.save(net, path, specs(networks.api("paddle"), row))
    stem = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
    config = paddle.inference.Config(stem, path + ".pdiparams")
    config.disable_gpu()
    config.enable_mkldnn()
    if row.dtype == "bfloat16":
        config.enable_mkldnn_bfloat16()
    config.set_cpu_math_library_num_threads(threads)
    config.disable_glog_info()
    predictor = paddle.inference.create_predictor(config)
    return _by_handles(predictor, predictor.get_input_names())


def measure(name: str, work: str, folder: str, seconds: float) -> dict[str, float]:
    row = WORK[work]
    given = inputs(row)
    begin = time.perf_counter()
    run = globals()["_" + name](row, folder, int(os.environ["OMP_NUM_THREADS"]))
    loading = time.perf_counter() - begin
    for _ in range(3):
        out = run(*given)
    assert np.isfinite(out).all()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 5000):
        start = time.perf_counter()
        run(*given)
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {work: 1e3 * statistics.median(times), work + ", peak MiB": peak, work + ", loading ms": 1e3 * loading}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", help="measure this engine, in this process")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; all if empty")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="to measure each engine for, in a row and round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="of the files that `write` wrote")
    parser.add_argument("--write", action="store_true", help="the files, and nothing else")
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the file holds")
    args = parser.parse_args(argv)
    parts = [part.strip().lower() for part in args.work.split(";")]
    wanted = [w for w in WORK if any(w.lower().startswith(part) for part in parts)]
    if args.write:
        write(WORK[wanted[0]], args.folder)
        print("{}")
        return 0
    if args.framework:
        print(json.dumps(measure(args.framework, wanted[0], args.folder, args.seconds)))
        return 0
    names = [n for n in args.engines.split(",") if importlib.util.find_spec(n)]
    file = pathlib.Path(args.json) if args.json else None
    results = json.loads(file.read_text())["predictions"] if args.resume and file and file.exists() else {}
    for work in wanted:
        if work in results:
            continue
        with tempfile.TemporaryDirectory() as folder:
            side_by_side.measure(__file__, "proa", ["--write", "--work", work, "--folder", folder], args.threads)
            arguments = ["--work", work, "--folder", folder, "--seconds", str(args.seconds)]
            results[work] = side_by_side.run(__file__, arguments, names, args.rounds, args.threads)
        side_by_side.print_table(results[work], "ms", ENGINES)
        if file:
            file.write_text(json.dumps({"predictions": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
