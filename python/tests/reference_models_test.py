"""Models that PaddlePaddle saved (reference_models/write.py made them): read, run, trained further, saved as ours."""

import os
import pathlib
import re

import numpy as np
import pytest

import proa as paddle
from proa import _C

FOLDER = pathlib.Path(__file__).parent / "reference_models"
FUNCTIONS = np.load(FOLDER / "functions.npz")
NAMES = sorted({name.split("/")[0] for name in FUNCTIONS})
MODELS = sorted(path.stem for path in FOLDER.glob("*.pdmodel"))
DOCS = pathlib.Path(__file__).parents[2] / "docs" / "programs.md"


def close(found, wanted):
    assert len(found) == len(wanted)
    for i, (a, b) in enumerate(zip(found, wanted)):
        a = np.asarray(a)
        assert (a.shape, a.dtype) == (b.shape, b.dtype), i
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=str(i))


def results_of(data, prefix="out/"):
    return [data[f"{prefix}{i}"] for i in range(sum(name.startswith(prefix) for name in data))]


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", NAMES)
def test_function(name, tmp_path):
    path = str(tmp_path / "f")
    for part, ending in (("program", ".pdmodel"), ("params", ".pdiparams")):
        pathlib.Path(path + ending).write_bytes(FUNCTIONS[f"{name}/{part}"].tobytes())
    layer = paddle.jit.load(path)
    inputs = [paddle.to_tensor(FUNCTIONS[f"{name}/in/{key}"]) for key in layer._module.input_names]
    wanted = results_of(FUNCTIONS, f"{name}/out/")
    close([v.numpy() for v in listed(layer(*inputs))], wanted)
    names = layer._module.output_names
    found = [v.numpy() for v, name in zip(layer._module.run(inputs), names, strict=True) if "@LENGTHS" not in name]
    close(found, wanted)


@pytest.mark.parametrize("name", MODELS)
def test_model(name, tmp_path):
    data = np.load(FOLDER / f"{name}.npz")
    path, wanted = str(FOLDER / name), results_of(data)
    program, names, targets = paddle.static.load_inference_model(path, paddle.static.Executor())
    feed = {key: data["in/" + key] for key in names}
    close(paddle.static.Executor().run(program, feed=feed, fetch_list=targets), wanted)
    for config in (
        paddle.inference.Config(path + ".pdmodel", path + ".pdiparams"),
        paddle.inference.Config(path),
    ):
        predictor = paddle.inference.create_predictor(config)
        assert predictor.get_input_names() == names
        close([v.numpy() for v in predictor.run([feed[key] for key in names])], wanted)
    layer = paddle.jit.load(path)
    layer._module.save(os.fsencode(str(tmp_path / "ours")))
    again = paddle.jit.load(str(tmp_path / "ours"))
    inputs = [paddle.to_tensor(feed[key]) for key in names]
    for a, b in zip(listed(layer(*inputs)), listed(again(*inputs))):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_files_of_1x(tmp_path):
    data = np.load(FOLDER / "lenet.npz")
    for names in (("__model__", "__params__"), ("model", "params")):
        folder = tmp_path / names[0]
        folder.mkdir()
        for name, ending in zip(names, (".pdmodel", ".pdiparams")):
            (folder / name).write_bytes((FOLDER / ("lenet" + ending)).read_bytes())
        program, feeds, targets = paddle.fluid.io.load_inference_model(
            str(folder), paddle.static.Executor(), model_filename=names[0], params_filename=names[1]
        )
        found = paddle.static.Executor().run(program, feed={feeds[0]: data["in/n_image"]}, fetch_list=targets)
        close(found, results_of(data))
        predictor = paddle.inference.create_predictor(
            paddle.inference.Config(str(folder / names[0]), str(folder / names[1]))
        )
        close([v.numpy() for v in predictor.run([data["in/n_image"]])], results_of(data))
    close(
        [paddle.jit.load(str(tmp_path / "__model__"))(paddle.to_tensor(data["in/n_image"])).numpy()], results_of(data)
    )
    state = paddle.static.load_program_state(str(tmp_path / "__model__"))
    assert {value.shape for value in state.values()} >= {(6, 1, 5, 5), (12, 10)}


def test_bytes():
    data = np.load(FOLDER / "lenet.npz")
    program = paddle.static.deserialize_program((FOLDER / "lenet.pdmodel").read_bytes())
    program = paddle.static.deserialize_persistables(program, (FOLDER / "lenet.pdiparams").read_bytes())
    feed = {"n_image": data["in/n_image"]}
    close(paddle.static.Executor().run(program, feed=feed, fetch_list=program.fetch_targets()), results_of(data))


def test_trained_further():
    data = np.load(FOLDER / "lenet.npz")
    net = paddle.jit.load(str(FOLDER / "lenet"))
    assert len(net.parameters()) == 10 and len(net.buffers()) == 2
    image, label = paddle.to_tensor(data["in/n_image"]), paddle.to_tensor(np.array([[3], [5]]))
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    losses = []
    for _ in range(5):
        loss = paddle.nn.functional.nll_loss(paddle.log(net(image)), label.flatten())
        loss.backward()
        assert all(p.grad is not None for p in net.parameters())
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.8


def test_cut_off(tmp_path):
    program, params = ((FOLDER / ("tagger" + ending)).read_bytes() for ending in (".pdmodel", ".pdiparams"))
    path = str(tmp_path / "net")
    for cut, whole, ending, other in (
        (program, params, ".pdmodel", ".pdiparams"),
        (params, program, ".pdiparams", ".pdmodel"),
    ):
        pathlib.Path(path + other).write_bytes(whole)
        for n in range(0, len(cut) - 40, 97):
            pathlib.Path(path + ending).write_bytes(cut[:n])
            with pytest.raises((ValueError, RuntimeError, NotImplementedError), match="net.pd"):
                paddle.jit.load(path)


def test_documented():
    types = _C.reference_op_types()
    assert len(types) >= 300
    text = DOCS.read_text()
    part = text[text.index("<!-- types of ops: generated -->") :]
    assert re.findall(r"[a-z_0-9]+", part.split("<!--")[1].split("-->")[1]) == types
