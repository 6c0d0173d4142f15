"""Writes torch_files/: small files of PyTorch. Run it where that is.

python write_torch_files.py torch_files
"""

import json
import os
import sys

import torch


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    state = net.state_dict()
    base = torch.arange(10.0)
    others = {
        "bfloat16": torch.arange(4, dtype=torch.bfloat16), "float16": torch.arange(4.0).half(),
        "float64": torch.tensor([[0.1]], dtype=torch.float64), "bool": torch.tensor([True, False]),
        "uint8": torch.tensor([1, 255], dtype=torch.uint8), "int8": torch.tensor([-1], dtype=torch.int8),
        "int16": torch.tensor([-2], dtype=torch.int16), "int32": torch.tensor([-3], dtype=torch.int32),
        "complex64": torch.tensor([1 + 2j]), "complex128": torch.tensor([1 + 2j], dtype=torch.complex128),
        "transposed": torch.arange(6.0).reshape(2, 3).t(), "part": base[2:5], "steps": base[::3], "scalar": torch.tensor(3),
        "empty": torch.zeros(0, 3), "same": torch.ones(1).expand(3),
    }  # fmt: skip
    torch.save(state, os.path.join(folder, "state.pt"))
    adam = torch.optim.Adam(net.parameters())
    net(torch.ones(4, 2)).sum().backward()
    adam.step()
    value = {"epoch": 3, "others": others, "optimizer": adam.state_dict(), "parameter": torch.nn.Parameter(torch.ones(2)),
             "shape": torch.Size([2, 3]), "list": [base, (None, "text")]}  # fmt: skip
    torch.save(value, os.path.join(folder, "nested.pt"))
    torch.save(state, os.path.join(folder, "old.pt"), _use_new_zipfile_serialization=False)

    def plain(tensor):
        found = tensor.to(torch.float32) if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
        found = torch.view_as_real(found) if found.is_complex() else found
        return [str(tensor.dtype).rpartition(".")[2], list(tensor.shape), found.tolist()]

    state = torch.load(os.path.join(folder, "state.pt"))
    expected = {"state": {k: plain(v) for k, v in state.items()}, "others": {k: plain(v) for k, v in others.items()}}
    with open(os.path.join(folder, "expected.json"), "w") as stream:
        json.dump(expected, stream, indent=1)


if __name__ == "__main__":
    main()
