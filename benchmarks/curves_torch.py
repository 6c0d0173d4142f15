"""The training of loss_curves.py in PyTorch: the same first parameters, batches and learning rates, from a file.

    python benchmarks/curves_torch.py FILE

FILE (.npz) is what loss_curves.py writes. Prints one JSON object: losses by way ("float32", "O1 bfloat16", "nudged", ...). O1 is
`torch.autocast`. O2 as PyTorch has none: parameters in 16 bits but for those of norms, float32 copies of them for the
optimizer, inside of autocast. Masks of dropout are drawn in float32 from one seed, so that every way has the same.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys

import numpy as np
import torch

F = torch.nn.functional


class Masks:
    """Dropout with masks that depend on the seed and the order of calls alone."""

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)

    def drop(self, x, p: float):
        kept = torch.rand(x.shape, generator=self._generator) >= p
        return x * (kept / (1 - p)).to(x.dtype)


def digits(p, x, masks):
    x = F.relu(F.conv2d(x, p[0], p[1], padding=1))
    x = F.max_pool2d(F.relu(F.conv2d(x, p[2], p[3], padding=1)), 2)
    x = masks.drop(F.relu(x.flatten(1) @ p[4] + p[5]), 0.2)
    return x @ p[6] + p[7]


def char_transformer(p, ids, masks):
    """Parameters in the order of the layers: two embeddings, encoder layers of 16 each, the last norm, the output."""
    length, heads = ids.shape[1], 4
    mask = torch.full([length, length], -math.inf).triu(1)
    hidden = masks_width = p[0].shape[1]
    x = F.embedding(ids, p[0]) + p[1][:length]
    for at in range(2, len(p) - 4, 16):
        q_w, q_b, k_w, k_b, v_w, v_b, o_w, o_b, w1, b1, w2, b2, n1, m1, n2, m2 = p[at : at + 16]
        y = F.layer_norm(x, [hidden], n1, m1)
        q, k, v = (
            (y @ w + b).unflatten(-1, (heads, -1)).transpose(1, 2) for w, b in ((q_w, q_b), (k_w, k_b), (v_w, v_b))
        )
        scores = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(masks_width // heads) + mask, -1)
        y = (masks.drop(scores, 0.1) @ v).transpose(1, 2).flatten(2)
        x = x + masks.drop(y @ o_w + o_b, 0.1)
        y = masks.drop(F.gelu(F.layer_norm(x, [hidden], n2, m2) @ w1 + b1), 0.1)
        x = x + masks.drop(y @ w2 + b2, 0.1)
    return F.layer_norm(x, [hidden], p[-4], p[-3]) @ p[-2] + p[-1]


def lstm(p, x, masks):
    del masks
    zeros = x.new_zeros([1, len(x), p[1].shape[1]]).to(p[0].dtype)
    low = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else p[0].dtype
    # oneDNN has LSTMs of float16 for CPUs with its arithmetic only; PyTorch asks it all the same.
    with torch.backends.mkldnn.flags(enabled=low != torch.float16):
        _, h, _ = torch.lstm(x.to(p[0].dtype), (zeros, zeros), p[:4], True, 1, 0.0, True, False, True)
    return h[-1] @ p[4] + p[5]


NETWORKS = {"digits": digits, "char transformer": char_transformer, "LSTM": lstm}
CRITERIA = {
    "digits": F.cross_entropy,
    "char transformer": lambda y, target: F.cross_entropy(y.flatten(0, 1), target.flatten()),
    "LSTM": F.mse_loss,
}


def optimizer_of(name: str, exact):
    if name == "LSTM":
        return torch.optim.Adam(exact)
    return torch.optim.AdamW(exact, weight_decay=0.01)


def train(name: str, data, level: str, dtype: str, seed: int, nudge: float) -> list[float]:
    low = getattr(torch, dtype)
    exact = [torch.tensor(data[f"p{i}"]) for i in range(int(data["parameters"]))]
    if nudge:
        signs = np.random.default_rng(7)
        exact = [p * (1 + nudge * torch.tensor(signs.choice([-1, 1], p.shape)).float()) for p in exact]
    exact = [p.requires_grad_() for p in exact]
    norms = set(data["norms"].tolist())
    used = exact
    if level == "O2":
        used = [p if i in norms else p.detach().to(low).requires_grad_() for i, p in enumerate(exact)]
    optimizer, masks = optimizer_of(name, exact), Masks(seed)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15, enabled=level != "O0" and dtype == "float16")
    losses = []
    for step, rate in enumerate(data["rates"]):
        x, y = torch.tensor(data["x"][step]), torch.tensor(data["y"][step])
        cast = torch.autocast("cpu", dtype=low) if level != "O0" else contextlib.nullcontext()
        with cast:
            found = NETWORKS[name](used, x, masks)
        loss = CRITERIA[name](found.float(), y)
        scaler.scale(loss).backward()
        for p, copy in zip(exact, used):
            if copy is not p:
                p.grad, copy.grad = copy.grad.float(), None
        scaler.unscale_(optimizer)
        if name != "digits":
            torch.nn.utils.clip_grad_norm_(exact, 1.0)
        optimizer.param_groups[0]["lr"] = float(rate)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        with torch.no_grad():
            for p, copy in zip(exact, used):
                if copy is not p:
                    copy.copy_(p)
        losses.append(loss.item())
    return losses


def main(argv: list[str]) -> int:
    data = np.load(argv[0])
    for way in json.loads(str(data["ways"])):
        losses = train(str(data["name"]), data, way["level"], way["dtype"], int(data["seed"]), way["nudge"])
        print(json.dumps({"title": way["title"], "losses": losses}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
