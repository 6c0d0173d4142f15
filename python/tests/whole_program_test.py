"""Programs as they were built, in PaddlePaddle's format: static.save writes them, deserialize_program reads them; both train.

python python/tests/whole_program_test.py FOLDER     # writes them for reference_models/train.py, which trains them in PaddlePaddle
"""

import os
import pathlib
import sys

import numpy as np
import pytest

import proa
from proa import static
from python.tests.training_programs import PROGRAMS

_REFERENCE = pathlib.Path(__file__).parent / "reference_models" / "training.npz"
_STEPS = 5


@pytest.fixture(autouse=True)
def _static_mode():
    proa.enable_static()
    yield
    proa.disable_static()


def _built(build):
    """(program, feeds, name of the loss) in the scope of now, with the first values of its parameters."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), proa.utils.unique_name.guard():
        feed, loss = build(proa)
        name = loss.name
    static.Executor().run(startup)
    return main, feed, name


def _losses(program, feed, name, steps=_STEPS):
    executor = static.Executor()
    return np.array([executor.run(program, feed=feed, fetch_list=[name])[0].item() for _ in range(steps)])


def _read(path):
    program = static.deserialize_program(static.load_from_file(f"{path}.pdmodel"))
    static.load(program, str(path))
    return program


@pytest.mark.parametrize("name", PROGRAMS)
def test_trains_again_as_it_was_built(name, tmp_path):
    path = tmp_path / "net"
    with static.scope_guard(static.Scope()):
        main, feed, loss = _built(PROGRAMS[name])
        _losses(main, feed, loss, 2)
        static.save(main, str(path), format="paddle")
        want = _losses(main, feed, loss)
    with static.scope_guard(static.Scope()):
        program = _read(path)
        assert {p.name for p in program.trained_parameters()} == {p.name for p in main.trained_parameters()}
        np.testing.assert_allclose(_losses(program, feed, loss), want, rtol=2e-4)


@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in np.load(_REFERENCE).files}))
def test_files_of_the_reference_train_as_there(name, tmp_path):
    data, path = np.load(_REFERENCE), tmp_path / "net"
    for part, ending in (("model", ".pdmodel"), ("params", ".pdparams"), ("opt", ".pdopt")):
        pathlib.Path(f"{path}{ending}").write_bytes(data[f"{name}/{part}"].tobytes())
    feed = {key.split("/in/")[1]: data[key] for key in data.files if key.startswith(f"{name}/in/")}
    with static.scope_guard(static.Scope()):
        got = _losses(_read(path), feed, str(data[f"{name}/loss"]))
    np.testing.assert_allclose(got, data[f"{name}/losses"], rtol=2e-4)
    with static.scope_guard(static.Scope()):  # and so does the program itself
        np.testing.assert_allclose(_losses(*_built(PROGRAMS[name])), data[f"{name}/losses"], rtol=2e-4)


@pytest.mark.parametrize("name", ["chosen", "repeated", "from_an_array", "all_of_an_array", "without_a_loop"])
def test_conditions_and_loops_of_the_reference_train_as_there(name):
    """Batches of 2 to 4 rows; the condition holds in every second step (reference_models/control_flow.py)."""
    data = np.load(_REFERENCE.parent / "control_flow.npz")
    with static.scope_guard(static.Scope()):
        program = static.deserialize_program(data[f"{name}.program"].tobytes())
        start = f"{name}.values."
        static.set_program_state(program, {key[len(start) :]: data[key] for key in data.files if key.startswith(start)})
        executor, loss, got = static.Executor(), str(data[f"{name}.loss"]), []
        for k in range(len(data[f"{name}.losses"])):
            feed = {"x": data[f"{name}.x{k}"], "y": data[f"{name}.y{k}"]}
            got.append(executor.run(program, feed=feed, fetch_list=[loss])[0].item())
        changed = [p for p in program.all_parameters() if not np.allclose(p.numpy(), data[start + p.name])]
        parameters = [key for key in data.files if key.startswith(start + "w")]
        assert len(changed) == len(parameters), "each parameter is trained, those of blocks too"
    np.testing.assert_allclose(got, data[f"{name}.losses"], rtol=2e-5)


def _forward(proa=proa):
    """(program, input, a loss) without gradients."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), proa.utils.unique_name.guard():
        x = static.data("x", [None, 3])
        h = proa.nn.functional.dropout(static.nn.batch_norm(static.nn.fc(x, 4)), 0.5)
        loss = proa.mean(proa.square(static.nn.fc(h, 1)))
        loss.name = "loss"
    static.Executor().run(startup)
    return main, loss


def test_what_was_saved_before_training_is_trained(tmp_path):
    feed = {"x": np.random.default_rng(0).standard_normal((6, 3)).astype("float32")}
    with static.scope_guard(static.Scope()):
        main, loss = _forward()
        static.save(main, str(tmp_path / "net"), format="paddle")
        want = static.Executor().run(main.clone(for_test=True), feed=feed, fetch_list=["loss"])[0]
    with static.scope_guard(static.Scope()):
        program = _read(tmp_path / "net")
        test = program.clone(for_test=True)
        np.testing.assert_allclose(static.Executor().run(test, feed=feed, fetch_list=["loss"])[0], want, rtol=1e-5)
        with static.program_guard(program, static.Program()):
            proa.optimizer.Adam(0.05).minimize(program.global_block().var("loss"))
        losses = _losses(program, feed, "loss", 40)
        assert losses[-5:].mean() < 0.5 * losses[:5].mean()
        mean = static.global_scope().find_var("batch_norm_0.w_1")  # it moves while the program trains
        assert mean is not None and np.abs(np.asarray(mean.get_tensor())).max() > 0


def test_gradients_are_added_after_values_were_loaded(tmp_path):
    """Of any program: the formulas read the parameters as they are when it runs."""
    feed = {"x": np.random.default_rng(0).standard_normal((6, 3)).astype("float32")}
    with static.scope_guard(static.Scope()):
        main, loss = _forward()
        static.save(main, str(tmp_path / "net"))
        static.load(main, str(tmp_path / "net"))
        with static.program_guard(main, static.Program()):
            pairs = static.append_backward(loss)
        first, slope = static.Executor().run(main.clone(), feed=feed, fetch_list=[loss, dict(pairs)[_bias(pairs)]])
        assert first > 0 and np.isfinite(slope).all() and slope != 0


def _bias(pairs):
    return next(p for p, _ in pairs if p.name == "fc_1.b_0")


def test_its_parameters_are_those_of_the_scope(tmp_path):
    """As of every program: a second one of the same names shares them."""
    with static.scope_guard(static.Scope()):
        main, feed, loss = _built(PROGRAMS["adam"])
        static.save(main, str(tmp_path / "net"), format="paddle")
        first = _losses(main, feed, loss, 2)
        program = static.deserialize_program(static.load_from_file(str(tmp_path / "net.pdmodel")))
        second = _losses(program, feed, loss, 2)  # goes on where the other one is
        static.load(program, str(tmp_path / "net"))
        np.testing.assert_allclose(_losses(main, feed, loss, 4), [*first, *second], rtol=2e-4)


def test_state_of_both_kinds_of_files(tmp_path):
    with static.scope_guard(static.Scope()):
        main, *_ = _built(PROGRAMS["adam"])
        own, theirs = str(tmp_path / "own"), str(tmp_path / "theirs")
        static.save(main, own)
        static.save(main, theirs, format="paddle")
        states = static.load_program_state(own), static.load_program_state(theirs)
        assert states[0].keys() == states[1].keys() == main.state_dict().keys()
        for name in states[0]:
            np.testing.assert_array_equal(*(state[name] for state in states))
        for load in (static.load, proa.fluid.load):
            load(main, theirs)
    assert not os.path.exists(own + ".pdmodel")


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="format must be 'proa' or 'paddle', not 'onnx'"):
        static.save(static.Program(), str(tmp_path / "net"), format="onnx")
    main = static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, static.Program()):
        x = static.data("x", [4, 3])
        one, other = (static.create_parameter([3, 3], "float32") for _ in range(2))
        turn = lambda k, h: [k + 1, proa.matmul(proa.matmul(h, one), other)]
        h = static.nn.while_loop(lambda k, h: k < 3, turn, [proa.full([1], 0, "int64"), x])[1]
        for p in (one, other):
            proa.optimizer.SGD(0.1).minimize(proa.mean(h * h), parameters=[p])
        with pytest.raises(NotImplementedError, match="gradients of two losses through one loop cannot be written"):
            static.save(main, str(tmp_path / "net"), format="paddle")
    assert not os.listdir(tmp_path)  # nothing is half written


def test_damaged_programs():
    whole = np.load(_REFERENCE)["adam/model"].tobytes()
    for n in range(1, len(whole) - 40, 41):
        with pytest.raises((ValueError, RuntimeError, NotImplementedError)):
            static.deserialize_program(whole[:n])
    # Ops that are not known are listed, all in one error.
    with pytest.raises(NotImplementedError, match="adxm"):
        static.deserialize_program(whole.replace(b"\x1a\x04adam", b"\x1a\x04adxm"))
    # A gradient of an op that is not there.
    with pytest.raises(ValueError, match="there is no op 'relu' before it whose gradients it could give"):
        static.deserialize_program(whole.replace(b"\x1a\x04relu", b"\x1a\x04tanh"))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    proa.enable_static()
    for name, build in PROGRAMS.items():
        with static.scope_guard(static.Scope()):
            main, feed, loss = _built(build)
            try:
                static.save(main, str(folder / name), format="paddle")
            except NotImplementedError as error:
                print(f"{name}: {error}")
                continue
            arrays = {f"in/{key}": value for key, value in feed.items()}
            np.savez(folder / f"{name}.npz", **arrays, loss=np.array(loss), losses=_losses(main, feed, loss))


def _resident():
    return int(open("/proc/self/statm", encoding="utf-8").read().split()[1]) * 4096


def test_parameters_take_no_memory_before_they_have_values(tmp_path):
    """A file has their sizes alone, and may lie."""
    with static.scope_guard(static.Scope()):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            y = static.nn.fc(static.data("x", [None, 128]), 128, bias_attr=False)
        static.Executor().run(startup)
        static.save(main, str(tmp_path / "net"), format="paddle")
    data = (tmp_path / "net.pdmodel").read_bytes()
    small, large = b"\x10\x80\x01", b"\x10\xff\x7f"  # a dim: 128, 16383; the weight has two of them
    assert data.count(small) >= 3 and y is not None
    with static.scope_guard(static.Scope()):
        before = _resident()
        program = static.deserialize_program(data.replace(small, large))
        assert [p.shape for p in program.all_parameters()] == [[16383, 16383]]
        assert _resident() - before < 64 << 20
