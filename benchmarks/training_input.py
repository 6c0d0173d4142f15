"""What feeds a training and what ends its steps, beside PyTorch: batches by DataLoader, and AdamW with a clip.

    python benchmarks/training_input.py [--rounds 3] [--threads 2]    # where torch and the package are installed

- "floats, W workers": batches of 32 samples of 3x224x224 float32 that are made in memory.
- "JPEG, W workers": files in a folder for each class, decoded, cut at random, flipped at random, normalized. Here by
  `vision.datasets.DatasetFolder` with its own loader, which decodes what the cut needs, and `vision.transforms`; there by
  what torchvision's default loader does (`Image.open(...).convert("RGB")`) and the same steps in torch (torchvision is none
  of the peers).
- "AdamW, clip": the step of BERT-base's 110 million parameters, the gradients clipped by their norm.

Figures are milliseconds: of a batch, the median over those of an epoch behind the first ones; of a step.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

import numpy as np

_MEAN, _DEVIATION = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


class Floats:
    """As many samples as a short epoch has, made by a copy."""

    def __init__(self, count):
        self.count, self.pixels = count, np.ones([3, 224, 224], "float32")

    def __getitem__(self, index):
        return self.pixels + np.float32(index), index % 10

    def __len__(self):
        return self.count


class Pictures:
    """As torchvision's ImageFolder."""

    def __init__(self, folder, transform):
        paths = sorted(pathlib.Path(folder).glob("*/*.jpg"))
        self.paths, self.transform = [(str(path), int(path.parent.name)) for path in paths], transform

    def __getitem__(self, index):
        from PIL import Image

        path, target = self.paths[index]
        with open(path, "rb") as file:
            image = Image.open(file).convert("RGB")
        return self.transform(image), target

    def __len__(self):
        return len(self.paths)


def _write_pictures(folder, count):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(count):
        small = rng.integers(0, 256, [12, 16, 3]).astype("uint8")
        memory = io.BytesIO()
        Image.fromarray(small).resize((500, 375), Image.BICUBIC).save(memory, "jpeg", quality=90)
        path = pathlib.Path(folder, str(i % 10), f"{i:04}.jpg")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(memory.getvalue())


def _torch_transform(image):
    import torch

    left, top = random.randint(0, image.width - 224), random.randint(0, image.height - 224)
    image = image.crop((left, top, left + 224, top + 224))
    if random.random() < 0.5:
        image = image.transpose(0)
    x = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).contiguous().to(torch.float32).div_(255)
    return x.sub_(torch.from_numpy(_MEAN)[:, None, None]).div_(torch.from_numpy(_DEVIATION)[:, None, None])


def _proa_transform():
    from proa.vision import transforms as T

    return T.Compose([T.RandomCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(_MEAN.tolist(), _DEVIATION.tolist())])  # fmt: skip


def _pictures(framework, folder):
    if framework == "proa":
        from proa.vision.datasets import DatasetFolder

        return DatasetFolder(folder, transform=_proa_transform())
    return Pictures(folder, _torch_transform)


def _loader(framework):
    if framework == "proa":
        from proa.io import DataLoader
    else:
        from torch.utils.data import DataLoader
    return DataLoader


def _batches(framework, data, workers):
    """Milliseconds a batch."""
    loader = _loader(framework)(data, batch_size=32, shuffle=True, num_workers=workers, drop_last=True)
    times, start = [], time.perf_counter()
    for batch in loader:
        assert list(batch[0].shape) == [32, 3, 224, 224]
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
    # Behind the first ones workers are under way; batches come several at once, so the mean and not the median.
    return 1e3 * statistics.mean(times[4:])


# Sizes of the parameters of BERT-base.
_BERT = [(30522, 768), (512, 768), (2, 768)] + 12 * [
    *4 * [(768, 768), (768,)], (768, 3072), (3072,), (3072, 768), (768,), *4 * [(768,)],
]  # fmt: skip


def _step(framework):
    """Milliseconds a step of AdamW behind a clip, for all of BERT-base."""
    if framework == "proa":
        import proa

        parameters = [proa.create_parameter(list(s), "float32") for s in _BERT]
        for p in parameters:
            p.grad = proa.full(p.shape, 1e-3)
        adam = proa.optimizer.AdamW(1e-4, parameters=parameters, grad_clip=proa.nn.ClipGradByGlobalNorm(1.0))
        step = adam.step
    else:
        import torch

        parameters = [torch.nn.Parameter(torch.randn(s)) for s in _BERT]
        for p in parameters:
            p.grad = torch.full(p.shape, 1e-3)
        adam = torch.optim.AdamW(parameters, 1e-4, fused=True)

        def step():
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adam.step()

    times = []
    for _ in range(7):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[2:])


def measured(framework, count):
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        _write_pictures(folder, count)
        for workers in (0, 2):
            figures[f"floats, {workers} workers"] = _batches(framework, Floats(count), workers)
            figures[f"JPEG, {workers} workers"] = _batches(framework, _pictures(framework, folder), workers)
    figures["AdamW, clip"] = _step(framework)
    return figures


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=("proa", "torch"))
    parser.add_argument("--json", help="- to print the figures of one framework as JSON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=640)
    options = parser.parse_args(argv)
    if options.framework:
        print(json.dumps(measured(options.framework, options.samples)))
        return 0
    import side_by_side

    names = [n for n in side_by_side.installed(tuned=False) if n in ("proa", "torch")]
    arguments = ["--samples", str(options.samples)]
    side_by_side.print_table(
        side_by_side.run(os.path.abspath(__file__), arguments, names, options.rounds, options.threads), "ms"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
