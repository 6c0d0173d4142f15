"""Files that PaddlePaddle wrote (reference_files/write.py): the same values, outputs, and training that goes on."""

import pathlib
import pickle
import sys

import numpy as np
import pytest

import proa

_FOLDER = pathlib.Path(__file__).parent / "reference_files"
sys.path.insert(0, str(_FOLDER))
import layers  # noqa: E402


def _pickled(name):
    """By Python's own reader, which may be trusted with our files."""
    return pickle.loads((_FOLDER / name).read_bytes())


@pytest.mark.parametrize("name", layers.LAYERS)
def test_layers_have_the_files_names_and_give_its_outputs(name):
    with proa.utils.unique_name.guard():
        layer = layers.LAYERS[name](proa)
    state = proa.load(str(_FOLDER / f"{name}.pdparams"))
    wanted = _pickled(f"{name}.pdparams")
    names = wanted.pop("StructuredToParameterName@@")
    assert list(state) == list(wanted)
    assert {n: t.name for n, t in layer.state_dict().items()} == names == {n: t.name for n, t in state.items()}
    assert layer.set_state_dict(state) == ([], [])
    for n, t in layer.state_dict().items():
        assert np.array_equal(t.numpy(), wanted[n]) and t.shape == list(wanted[n].shape), n
    layer.eval()
    saved = np.load(_FOLDER / f"{name}.npz")
    out = layer(proa.to_tensor(saved["x"]))
    out = out[0] if isinstance(out, (tuple, list)) else out
    np.testing.assert_allclose(out.numpy(), saved["out"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", layers.OPTIMIZERS)
def test_training_goes_on(name):
    with proa.utils.unique_name.guard():
        net, optimizer, schedule = layers.training(proa, layers.OPTIMIZERS[name])
    net.set_state_dict(proa.load(str(_FOLDER / f"{name}.pdparams")))
    optimizer.set_state_dict(proa.load(str(_FOLDER / f"{name}.pdopt")))
    assert schedule.last_epoch == 3
    layers.steps(proa, net, optimizer, schedule, 2)
    wanted = np.load(_FOLDER / f"{name}.npz")
    for n, t in net.state_dict().items():
        np.testing.assert_allclose(t.numpy(), wanted[n], rtol=1e-5, atol=1e-6, err_msg=n)


def test_a_state_of_other_parameters_says_so():
    net, optimizer, _ = layers.training(proa, layers.OPTIMIZERS["adam"])
    state = proa.load(str(_FOLDER / "adam.pdopt"))
    assert any(name.startswith("linear_0.w_0_") for name in state)
    for i, parameter in enumerate(net.parameters()):
        parameter.name = f"other_{i}"
    with pytest.warns(UserWarning, match="none of the names in the state .*'other_0'"):
        optimizer.set_state_dict(state)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_nested_values(protocol):
    value = proa.load(str(_FOLDER / f"nested{protocol}.ckpt"))
    assert value["epoch"] == 3 and value["best"] == (0.5, "acc")
    assert value["model"]["w"].tolist() == [[1.0, 2.0]]
    half, empty = value["list"]
    assert half.dtype == proa.bfloat16 and half.tolist() == [[1.0, 2.0]] and empty.shape == [0, 2]
    arrays = proa.load(str(_FOLDER / f"nested{protocol}.ckpt"), return_numpy=True)
    assert isinstance(arrays["model"]["w"], np.ndarray)


def test_a_bare_tensor():
    value = proa.load(str(_FOLDER / "bare"))
    assert value.shape == [] and value.item() == 2.5


def test_a_model_that_saves_what_it_loaded(tmp_path):
    # Out of the reference's file, into ours, and the same again.
    state = proa.load(str(_FOLDER / "lstm.pdparams"))
    proa.save(state, str(tmp_path / "lstm.pdparams"))
    again = proa.load(str(tmp_path / "lstm.pdparams"))
    assert list(again) == list(state)
    assert all(np.array_equal(again[n].numpy(), state[n].numpy()) and again[n].name == state[n].name for n in state)
