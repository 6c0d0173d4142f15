"""Writes the models of this folder with PaddlePaddle 3 (a virtual environment of its own; no part of the tests).

    FLAGS_enable_pir_api=0 python python/tests/reference_models/write.py [NAME...]      # the names given alone

`functions.npz` holds small programs, one for each entry of FUNCTIONS (functions.py) and ALONE (old_ops.py): `<name>/program`,
`<name>/params` (bytes), inputs `<name>/in/<input>` and results `<name>/out/<i>`. `<model>.pdmodel`, `.pdiparams` and `.npz`
are those of MODELS (models.py). All weights are random.
"""

import os
import sys
import tempfile

import numpy as np

# In this order: recording chooses the old programs before paddle is imported, the others draw arrays as they are imported.
from recording import paddle, write  # isort: skip
from functions import FUNCTIONS  # isort: skip
from old_ops import ALONE, alone  # isort: skip
from models import MODELS  # isort: skip
from old_names import give_old_names  # isort: skip

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = FUNCTIONS | {"op_" + type: alone(type) for type in ALONE}


def main():
    paddle.enable_static()
    give_old_names()
    found, chosen = {}, sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for name, (build, arrays) in PROGRAMS.items():
            if chosen and name not in chosen:
                continue
            prefix = ("n_" if name.startswith("n_") else "") + "x"
            inputs = {f"{prefix}{i}": a for i, a in enumerate(arrays)}
            path = os.path.join(folder, "m")
            for ending in (".pdmodel", ".pdiparams"):
                if os.path.exists(path + ending):
                    os.remove(path + ending)
            try:
                results = write(path, build, inputs)
            except Exception as error:
                print("not written:", name, type(error).__name__, str(error).strip().splitlines()[-1][:200])
                continue
            for part, ending in (("program", ".pdmodel"), ("params", ".pdiparams")):
                data = open(path + ending, "rb").read() if os.path.exists(path + ending) else b""
                found[f"{name}/{part}"] = np.frombuffer(data, "uint8")
            found |= {f"{name}/in/{key}": value for key, value in inputs.items()}
            found |= {f"{name}/out/{i}": np.asarray(value) for i, value in enumerate(results)}
    if chosen:  # the others stay as they are
        kept = np.load(os.path.join(HERE, "functions.npz"))
        found = {key: kept[key] for key in kept.files if key.split("/")[0] not in chosen} | found
    np.savez_compressed(os.path.join(HERE, "functions.npz"), **found)
    for name, (build, inputs) in MODELS.items():
        if chosen and name not in chosen:
            continue
        results = write(os.path.join(HERE, name), build, inputs)
        np.savez_compressed(
            os.path.join(HERE, name + ".npz"),
            **{f"in/{k}": v for k, v in inputs.items()}, **{f"out/{i}": v for i, v in enumerate(results)},
        )  # fmt: skip


if __name__ == "__main__":
    main()
