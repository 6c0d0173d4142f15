"""Random functions with branches, loops and jumps: converted they give what they give as written, or raise where that raises.

Names are bound in some ways and turns alone, so that many runs read one without a value: UnboundLocalError, in both.
"""

import importlib.util
import random

import numpy as np
import pytest

import proa as paddle

_NAMES = ["a", "b", "c"]
_CASES = 60


class _Function:
    """Writes the text of a function f(x, n, m) of a vector, an integer tensor and an integer."""

    def __init__(self, seed):
        self._random, self._loops = random.Random(seed), 0

    def text(self):
        lines = ["def f(x, n, m):", *self._block(1, 2, []), *self._block(1, 2, []), *self._block(1, 2, [])]
        lines.append(f"    return {self._name()} + x * 0.0")
        # Each name is one of the function's.
        return "\n".join([*lines, *(f"    {name} = x" for name in _NAMES)]) + "\n"

    def _name(self):
        return self._random.choice(_NAMES)

    def _value(self, loops):
        kinds = ["x", "x * 2.0", "x + 1.0", f"{self._name()} + 1.0", f"{self._name()} * x", f"x - {self._name()}"]
        kinds += [f"x {sign} {self._random.choice(loops)}" for sign in "+*" if loops]
        return self._random.choice(kinds)

    def _condition(self, loops):
        kinds = ["x.sum() > 0.0", "x.sum() > 1.0", "x[0] > 0.5", "x[1] < x[0]", f"{self._name()}.sum() > 0.5"]
        kinds += [f"{self._random.choice(loops)} == {self._random.randrange(3)}"] if loops else []
        return self._random.choice(kinds)

    def _block(self, depth, left, loops):
        return [line for _ in range(self._random.randint(1, 3)) for line in self._statement(depth, left, loops)]

    def _statement(self, depth, left, loops):
        pad, kind = "    " * depth, self._random.random()
        if not left or kind < 0.35:
            return [pad + line for line in self._simple(loops)]
        if kind < 0.65:
            lines = [pad + f"if {self._condition(loops)}:", *self._block(depth + 1, left - 1, loops)]
        else:
            self._loops += 1
            index = f"i{self._loops}"
            body = self._block(depth + 1, left - 1, [*loops, index])
            if kind < 0.85:
                over = self._random.choice(["range(3)", "range(n)", "range(n + 1)", "range(m)"])
                lines = [pad + f"for {index} in {over}:", *body]
            else:
                turn = pad + f"    {index} = {index} + 1"
                test = self._random.choice(
                    [f"{index} < n", f"{index} < 2", f"{index} < n and {self._name()}.sum() < 2.0"]
                )
                lines = [pad + f"{index} = n * 0", pad + f"while {test}:", turn, *body]
        if self._random.random() < 0.4:
            lines += [pad + "else:", *self._block(depth + 1, left - 1, loops)]
        return lines

    def _simple(self, loops):
        kind = self._random.random()
        if loops and kind < 0.2:
            return [f"if {self._condition(loops)}:", "    " + self._random.choice(["break", "continue"])]
        if kind < 0.25:
            return [f"return {self._value(loops)}"]
        if kind < 0.35:
            return [f"{self._name()} += 1.0"]
        return [f"{self._name()} = {self._value(loops)}"]


def _outcome(function, x, n, m):
    """(value, gradient of x), or None where a name has no value."""
    x = paddle.to_tensor(x, stop_gradient=False)
    try:
        y = function(x, paddle.to_tensor(n), m)
    except NameError:
        return None
    y.sum().backward()
    return y.numpy(), x.grad.numpy()


@pytest.mark.parametrize("seed", range(_CASES))
def test_a_random_function_is_eager(seed, tmp_path):
    path = tmp_path / f"random_{seed}.py"
    path.write_text(_Function(seed).text())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    converted = paddle.jit.to_static(module.f)
    for x in ([0.3, 0.9], [-0.7, 0.2], [1.5, -0.4], [-0.1, -0.9], [0.6, 0.55]):
        for n, m in ((0, 2), (2, 2), (3, 1)):
            want, got = (_outcome(f, np.float32(x), n, m) for f in (module.f, converted))
            assert (want is None) == (got is None), path.read_text()
            for a, b in zip(want or (), got or (), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=path.read_text())


def test_the_functions_read_names_with_and_without_values():
    found = [None, None]
    for seed in range(_CASES):
        space = {}
        exec(_Function(seed).text(), space)
        found[_outcome(space["f"], np.float32([0.3, 0.9]), 2, 2) is None] = seed
    assert None not in found
