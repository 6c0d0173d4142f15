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
