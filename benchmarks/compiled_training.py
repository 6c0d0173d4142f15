"""What a training step costs that `to_static` compiled, beside the eager one, PyTorch's two and the machine's limit.

    python benchmarks/compiled_training.py [--work "lenet;resnet"] [--rounds 3] [--seconds 4] [--threads 2] [--json FILE]

A step is that of models.py: the network and its loss, backward, momentum. The compiled ones have the network and its loss in one
function: `paddle.jit.to_static` of it here, `torch.compile` there. Each runs in a process of its own, by turns, and so does the
limit, the convolutions and products of the network alone (limits.py), where its program is built:

    bazel build -c opt //ops/onednn:limits_benchmark

Behind the times stand their ratios: to the limit, with what was promised of it, to the eager step, and to torch.compile.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

import disturbance
import limits
import models
import networks
import side_by_side

# The most that a compiled step is to take of the limit.
PROMISED = {
    "ResNet-50, batch 32, training": 1.25,
    "ResNet-50, batch 1, training": 1.5,
    "MobileNet v1, batch 32, training": 1.5,
    "BERT-base, batch 8 of 128, training": 1.1,
    "LeNet, batch 64, training": 1.7,
}
TITLES = {
    "proa": "Proa, eager",
    "proa_compiled": "to_static",
    "torch": "PyTorch, eager",
    "torch_compiled": "torch.compile",
}


def measure(name: str, work: str, seconds: float) -> dict[str, float]:
    """Milliseconds of a step: {work: ms}."""
    framework, _, compiled = name.partition("_")
    run = models.runner(networks.api(framework), work, compiled=bool(compiled))
    return {work: models.milliseconds(run, seconds, warm=6 if compiled else 2)}  # torch.compile works on for some steps


def ratios(work: str, medians: dict[str, float], limit: float | None) -> dict[str, float | None]:
    """What the compiled step takes: of the limit, of the eager step, of torch.compile; None where one is not known."""
    own = medians.get("proa_compiled")
    others = {"limit": limit, "eager": medians.get("proa"), "torch.compile": medians.get("torch_compiled")}
    return {key: own / other if own and other else None for key, other in others.items()}


def report(work: str, found: dict[str, float | None]) -> str:
    """The ratios in words."""
    said = {
        "limit": f"of the limit (at most {PROMISED[work]} promised)",
        "eager": "of the eager step (at most 1)",
        "torch.compile": "of torch.compile (at most 1)",
    }
    return "; ".join(f"{found[key]:.3f} {text}" for key, text in said.items() if found[key] is not None)


def _measure_row(work: str, args) -> dict:
    names = [name for name in TITLES if name.partition("_")[0] in side_by_side.installed()]
    result = side_by_side.run(
        __file__, ["--work", work, "--seconds", str(args.seconds)], names, args.rounds, args.threads
    )
    limit = None
    if args.limits.exists() and "proa" in names:
        limit = disturbance.calm(lambda: limits.limit(args.limits, work, args.threads)).value.ms
    side_by_side.print_table(result, "ms", TITLES)
    medians = {name: figure["median"] for name, figure in result["figures"].get(work, {}).items()}
    result["limit"], result["ratios"] = limit, ratios(work, medians, limit)
    print("limit " + ("is not built" if limit is None else f"{limit:.4g} ms"))
    print(f"to_static: {report(work, result['ratios'])}", flush=True)
    return result


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", help="measure this one, in this process")
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; all if empty")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="to measure each for, in a row and round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limits", type=pathlib.Path, default=limits.PROGRAM, help="the program limits_benchmark")
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    args = parser.parse_args(argv)
    wanted = [work for work in models.named(args.work) if work in PROMISED] if args.work else list(PROMISED)
    if not wanted:
        parser.error(f"--work {args.work!r}: there is {'; '.join(PROMISED)}")
    if args.framework:
        print(json.dumps(measure(args.framework, wanted[0], args.seconds)))
        return 0
    found = {}
    for work in wanted:  # a process for each, so that memory is its own
        found[work] = _measure_row(work, args)
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
