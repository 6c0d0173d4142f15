"""What programs print and assert: operations that no pass takes out, merges or moves, in files and in C++ too."""

import os
import re

import numpy as np
import pytest

import proa as paddle
from proa import static

_X = paddle.to_tensor([1.0, 2.0])


def _numbers(text):
    """The elements that were printed, in order."""
    return re.findall(r"\n       ([^)]+)\)", text)


@paddle.jit.to_static
def _shown(x):
    print("first", x.sum())
    y = x * 2
    print("second", y.sum(), "and", y.max(), sep="|", end="!\n")
    print("first", x.sum())
    n = paddle.to_tensor(0.0)
    while n < x.max():
        print("turn", n + x.max() * 0)
        n = n + 1
    if x.sum() > 0:
        print("up", x.min())
    else:
        print("down", x.min())
    return y


_WANT = ["3.", "6.", "4.", "3.", "0.", "1.", "1."]


def test_prints_keep_their_order(capfd):
    for _ in range(2):
        _shown(_X)
        text = capfd.readouterr().out
        assert _numbers(text) == _WANT
        assert "second|Tensor(" in text and "|and|Tensor(" in text and text.count(")!\n") == 1
        assert [w for w in re.findall(r"first|second|turn|up|down", text)] == [
            "first", "second", "first", "turn", "turn", "up"]  # fmt: skip
    assert _shown(-_X).tolist() == [-2.0, -4.0]
    assert "down" in capfd.readouterr().out


def test_every_pass_leaves_them(capsys, tmp_path):
    """Each pass alone, and all of them, over the program that was saved; by the predictor, which is C++."""
    prefix = str(tmp_path / "shown")
    paddle.jit.save(_shown, prefix, [static.InputSpec([2], "float32", "x")])
    names = paddle.inference.Config(prefix + ".pdmodel", prefix + ".pdiparams").pass_builder().all_passes()
    for chosen in ([], *([name] for name in sorted({*names, *paddle._C.passes()})), names):
        config = paddle.inference.Config(prefix + ".pdmodel", prefix + ".pdiparams")
        builder = config.pass_builder()
        for name in builder.all_passes():
            builder.delete_pass(name)
        for name in chosen:
            builder.append_pass(name)
        predictor = paddle.inference.create_predictor(config)
        (got,) = predictor.run([_X.numpy()])
        assert np.asarray(got).tolist() == [2.0, 4.0]
        assert _numbers(capsys.readouterr().out) == _WANT, chosen


def test_a_gradient_prints_nothing_again(capsys):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = _shown(x)
    assert _numbers(capsys.readouterr().out) == _WANT
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and capsys.readouterr().out == ""


def test_a_loop_that_backward_runs_again_prints_once(capsys):
    @paddle.jit.to_static
    def powers(x):
        while x.max() < 10:
            print(x.max())
            x = x * x
        return x

    x = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
    y = powers(x)
    assert _numbers(capsys.readouterr().out) == ["3.", "9."]
    y.sum().backward()
    assert x.grad.tolist() == [4 * 8.0, 4 * 27.0] and capsys.readouterr().out == ""


def test_a_loaded_program_prints(capsys, tmp_path):
    paddle.jit.save(_shown, str(tmp_path / "shown"), [static.InputSpec([None], "float32", "x")])
    capsys.readouterr()
    loaded = paddle.jit.load(str(tmp_path / "shown"))
    assert loaded(_X).tolist() == [2.0, 4.0]
    assert _numbers(capsys.readouterr().out) == _WANT
    assert not loaded.state_dict()


@paddle.jit.to_static
def _checked(x):
    assert x.sum() > 0, f"lost: {len(x.shape)}"
    while x.max() < 100:
        x = x * 2
        assert (x < 110).all()
    if x.min() > 50:
        raise OverflowError("all are large")
    return x


@pytest.mark.parametrize("values, says", [
    ([-1.0, 0.0], "lost: 1\n  at program_reports_test.py:"), ([57.0, 1.0], "assert (x < 110).all()\n  at program_reports_test.py:"),
    ([60.0, 52.0], "assert (x < 110).all()"),
])  # fmt: skip
def test_assertions_say_what_and_where(values, says, tmp_path):
    paddle.jit.save(_checked, str(tmp_path / "checked"), [static.InputSpec([2], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "checked"))
    config = paddle.inference.Config(str(tmp_path / "checked.pdmodel"), str(tmp_path / "checked.pdiparams"))
    predictor = paddle.inference.create_predictor(config)
    for run in (_checked, loaded, lambda x: predictor.run([x.numpy()])):
        with pytest.raises(AssertionError) as error:
            run(paddle.to_tensor(values))
        assert str(error.value).startswith(says)
        assert run(paddle.to_tensor([100.0, 1.0])) is not None  # and it goes on


def test_errors_of_raise_are_assertions_of_a_file(tmp_path):
    large = paddle.to_tensor([105.0, 60.0])
    with pytest.raises(OverflowError, match="^all are large$"):
        _checked(large)
    paddle.jit.save(_checked, str(tmp_path / "checked"), [static.InputSpec([2], "float32", "x")])
    with pytest.raises(AssertionError, match="^OverflowError: all are large"):
        paddle.jit.load(str(tmp_path / "checked"))(large)


def test_static_print_and_assert_are_saved(capsys, tmp_path):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [None, 2])
            label = static.data("label", [None, 2])
            static.Print(x, message="of x", print_tensor_name=False, first_n=2)
            paddle.fluid.layers.Assert((x > 0).all(), [x], summarize=3)
            y = x * 2.0
            inner = static.nn.cond(x.sum() > 5.0, lambda: static.Print(y + 1.0, message="large"), lambda: y)
            static.Print((y - label).sum(), message="loss")
        executor = static.Executor()
        small = np.float32([[1, 2]])
        executor.run(main, feed={"x": small, "label": small}, fetch_list=[y])
        text = capsys.readouterr().out
        assert "of x\n  - shape: [1, 2]\n  - dtype: float32\n  - data: [1 2]\n" in text
        assert "loss" in text and "  - data: [3]\n" in text and "large" not in text
        (got,) = executor.run(main, feed={"x": small * 3, "label": small}, fetch_list=[inner])
        assert got.tolist() == [[7.0, 13.0]]
        assert "large" in capsys.readouterr().out
        executor.run(main, feed={"x": small, "label": small}, fetch_list=[y])
        assert "of x" not in capsys.readouterr().out  # first_n
        with pytest.raises(AssertionError, match=r"\[1, 2\] float32 \[-1 -2\]"):
            executor.run(main, feed={"x": -small, "label": small}, fetch_list=[y])
        # A test is fed less: what is not known is not shown.
        executor.run(main.clone(for_test=True), feed={"x": small}, fetch_list=[y])
        assert "loss" not in capsys.readouterr().out
        prefix = str(tmp_path / "net")
        static.save_inference_model(prefix, [x], [inner], executor, program=main)
        loaded, feeds, fetches = static.load_inference_model(prefix, executor)
        executor.run(loaded, feed={feeds[0]: small * 3}, fetch_list=fetches)
        text = capsys.readouterr().out
        assert "large" in text and "loss" not in text
        with pytest.raises(AssertionError):
            executor.run(loaded, feed={feeds[0]: -small}, fetch_list=fetches)
    finally:
        paddle.disable_static()


def test_other_formats_do_not_hold_them(tmp_path):
    """Files that other tools read neither print nor assert, and who writes one is told what stays behind, with its line."""
    prefix = str(tmp_path / "checked")
    spec = [static.InputSpec([2], "float32", "x")]

    def checked(x):
        print(x)
        assert x.sum() > 0
        if x.max() > 10:
            raise ValueError("too large")
        return x * 2

    what = r"print at program_reports_test.py:\d+, in checked; assert at program_reports_test.py:\d+, in checked; "
    what += "the error ValueError: too large"
    with pytest.warns(
        UserWarning, match=f"jit.save: what the function prints and asserts is not part of the file: {what}"
    ):
        paddle.jit.save(paddle.jit.to_static(checked), prefix, spec, format="paddle")
    assert paddle.jit.load(prefix)(-_X).tolist() == [-2.0, -4.0]
    with pytest.warns(UserWarning, match=f"onnx.export: .*{what}"):
        paddle.onnx.export(paddle.jit.to_static(checked), prefix, spec)
    assert os.path.getsize(prefix + ".onnx") > 0


def test_programs_in_other_formats(tmp_path):
    """The same of programs that are built: the operations that print and assert are named with their lines."""
    prefix = str(tmp_path / "net")
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2])
        static.Print(x)
        paddle.fluid.layers.Assert((x > 0).all(), [x])
        y = x * 2
        says = r"print_described_ recorded at .*program_reports_test.py:\d+.*; assert_ recorded at .*program_reports_test.py"
        with pytest.warns(UserWarning, match=f"static.save_inference_model: .*{says}"):
            static.save_inference_model(prefix, [x], [y], static.Executor(), program=main, format="paddle")
        with pytest.warns(UserWarning, match=f"onnx.export: .*{says}"):
            paddle.onnx.export_program(prefix, [x], [y], main)
    loaded, names, targets = static.load_inference_model(prefix, static.Executor())
    feed = {names[0]: np.float32([-1, 2])}
    assert static.Executor().run(loaded, feed=feed, fetch_list=targets)[0].tolist() == [-2.0, 4.0]
