"""Programs whose stages run on processes of their own give what they give on one."""

import json
import os

import numpy as np
import pytest

import proa
from proa.distributed.dist_model import DistModel, DistModelConfig, save_dist_model
from proa.distributed.groups import run_threads


def _build(static):
    with static.device_guard("cpu:0"):
        x = static.data("x", [None, 4])
        a = static.nn.fc(x, 8, activation="tanh")
        early = proa.nn.functional.dropout(a * 2.0, 0.5)
    with static.device_guard("cpu:1"):
        words = static.data("words", [None], "int64")
        table = static.create_parameter([10, 8], "float32")
        b = static.nn.fc(a, 8) + proa.nn.functional.embedding(words, table)
    with static.device_guard("cpu:2"):
        c = static.nn.fc(proa.concat([b, early], -1), 3)
        loss = (c**2).mean()  # nobody asks for it
    return [x, words], [c, early, words * 2], loss


@pytest.fixture
def saved(tmp_path):
    """(folder, inputs, what one process gives)."""
    proa.enable_static()
    try:
        static, main = proa.static, proa.static.Program()
        proa.seed(4)
        with static.program_guard(main, static.Program()):
            feeds, fetches, _ = _build(static)
        random = np.random.RandomState(0)
        inputs = {"x": random.randn(7, 4).astype("float32"), "words": random.randint(0, 10, [7])}
        test = main.clone(for_test=True)
        want = static.Executor().run(test, feed=inputs, fetch_list=fetches)
        save_dist_model(str(tmp_path / "model"), feeds, fetches, main)
    finally:
        proa.disable_static()
    return str(tmp_path / "model"), inputs, want


@pytest.mark.parametrize("ranks, micro, ahead", [(3, 4, 2), (3, 1, 1), (3, 100, 1), (6, 3, 2)])
def test_stages_give_what_one_process_gives(saved, ranks, micro, ahead):
    folder, inputs, want = saved

    def body():
        model = DistModel(DistModelConfig(folder, micro, ahead))
        assert model.init()
        for _ in range(2):
            found = model.run(inputs)
        return model.stage, found

    for rank, (stage, found) in enumerate(run_threads(body, ranks)):
        assert stage == rank % 3 and (found is None) == (stage < 2)
        if found is not None:
            for value, wanted in zip(found, want, strict=True):
                assert value.dtype == wanted.dtype
                np.testing.assert_allclose(value, wanted, rtol=1e-6, atol=1e-6)


def test_a_stage_has_its_own_parameters_alone(saved):
    folder = saved[0]
    sizes = [os.path.getsize(f"{folder}/stage_{stage}.pdiparams") for stage in range(3)]
    counts = [
        sum(t.size for _, t in proa._C.load_program(os.fsencode(f"{folder}/stage_{s}")).captured) for s in range(3)
    ]
    assert all(sizes)
    assert [c - p for c, p in zip(counts, (4 * 8 + 8, 8 * 8 + 8 + 80, 16 * 3 + 3))] <= [4, 4, 4]  # and some numbers
    assert counts[0] < 50 and counts[2] < 60
    told = json.load(open(f"{folder}/stages.json"))
    assert told["stages"] == 3 and told["feeds"] == [["x"], ["words"], []] or "words" in told["feeds"][2]


def test_what_is_refused(saved, tmp_path):
    folder, inputs, _ = saved
    with pytest.raises(RuntimeError, match=r"call init\(\) first"):
        DistModel(DistModelConfig(folder)).run(inputs)
    for wrong in ({"micro_batches": 0}, {"ahead": True}):
        with pytest.raises(ValueError, match="must be a positive int"):
            DistModel(DistModelConfig(folder, **wrong))

    def body():
        model = DistModel(DistModelConfig(folder))
        with pytest.raises(ValueError, match="has 3 stages, and the job 2 processes"):
            model.init()
        return True

    assert run_threads(body, 2) == [True, True]

    def three():
        model = DistModel(DistModelConfig(folder))
        model.init()
        if model.stage == 0:
            with pytest.raises(ValueError, match="stage 0 needs input 'x'"):
                model.run({"words": inputs["words"]})
        with pytest.raises(TypeError, match="inputs must be a dict of arrays by name, not list"):
            model.run([inputs["x"]])
        with pytest.raises(ValueError, match="must have one first dim"):
            model.run({"x": inputs["x"], "words": inputs["words"][:3]})
        return True

    assert run_threads(three, 3) == [True] * 3
    for text in ("{", "[]", '{"stages": 2, "feeds": [[]], "fetches": []}', '{"stages": "x"}'):
        (tmp_path / "stages.json").write_text(text)
        with pytest.raises(ValueError, match="stages.json"):
            DistModel(DistModelConfig(str(tmp_path))).init()
