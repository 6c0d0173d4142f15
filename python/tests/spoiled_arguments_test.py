"""Each tensor argument of each public function in turn is something else: one sentence names the argument.

The calls are those of public_cases.py, which are right; then one tensor of theirs is None, a list, text, an object, a
tensor of another dtype or of another rank. (Of methods that are C functions Python itself checks `self`.) What is refused is refused by exceptions of Python's family and of the
reference's, in a sentence of ours; nothing is refused by Python from the inside of a function.
"""

import inspect

import pytest

import proa as paddle
from ops.conformance import samples
from python.tests.public_cases import Case, public_cases

WORDS = ("(InvalidArgument) ", "(OutOfRange) ", "(NotFound) ", "(PreconditionNotMet) ", "(Unimplemented) ")
NO_TENSORS = {"None": None, "list": ["a", []], "text": "text", "object": object(), "dict": {}, "type": int}

# Where None is said to mean something: (function, parameter) to what it means.
NONE_MEANS = {
    ("scale", "scale"): "the default",
    ("nn.functional.batch_norm", "weight"): "no factors",
    ("nn.functional.batch_norm", "bias"): "no terms",
}


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _named(function):
    return all(p.kind != p.VAR_POSITIONAL for p in _parameters(function).values())


def _cases():
    """(name, function, case, positions) of up to two calls of each function with other sets of tensors."""
    for name, function, texts in public_cases():
        seen = set()
        for text in texts:
            text = text.replace(".T", "")
            try:
                (sample,) = samples.parse(text, ("float32",))
            except (ValueError, SyntaxError):
                continue
            names = [p.name for p in _parameters(function).values() if p.kind != p.VAR_POSITIONAL]
            places = [
                (i, names[i] if _named(function) else f"argument {i}")
                for i, a in enumerate(sample.args)
                if isinstance(a, samples.TensorSpec) and not (i == 0 and inspect.ismethoddescriptor(function))
            ]
            places += [(k, k) for k, a in sample.kwargs.items() if isinstance(a, samples.TensorSpec)]
            places = [(place, parameter) for place, parameter in places if parameter not in seen]
            if places:
                seen |= {parameter for _, parameter in places}
                yield name, function, text, places


CASES = list(_cases())


def _said_as(parameter):
    """einsum and meshgrid count their operands, each in its own way."""
    return "" if parameter.startswith("argument ") else parameter


def spoil(name, function, text, place, bad):
    """What a call gives, or the exception."""
    args, kwargs = Case(name, text, function).arguments()
    (kwargs if isinstance(place, str) else args)[place] = bad(
        args[place] if not isinstance(place, str) else kwargs[place]
    )
    try:
        return function(*args, **kwargs)
    except Exception as e:  # pylint: disable=broad-except
        return e


def _optional(function, parameter):
    return _parameters(function)[parameter].default is None


@pytest.mark.parametrize("what", NO_TENSORS)
def test_no_tensor(what):
    wrong, asked = [], 0
    for name, function, text, places in CASES:
        for place, parameter in places:
            asked += 1
            e = spoil(name, function, text, place, lambda _: NO_TENSORS[what])
            if what == "None" and not isinstance(e, Exception):
                if (name, parameter) not in NONE_MEANS and not _optional(function, parameter):
                    wrong.append(f"{name}({parameter}): takes None")
                continue
            if not isinstance(e, Exception):
                wrong.append(f"{name}({parameter}): accepted")
                continue
            said = (str(e).splitlines() or [""])[0]
            if not (isinstance(e, TypeError) and isinstance(e, ValueError)):
                wrong.append(f"{name}({parameter}): {type(e).__name__} {said[:120]}")
            elif not said.startswith("(InvalidArgument) ") or f"{_said_as(parameter)} must be" not in said:
                wrong.append(f"{name}({parameter}): {said[:120]}")
    assert asked > 400
    assert "\n".join(wrong) == ""


def _of_dtype(dtype):
    return lambda t: paddle.ones(t.shape, "float32").astype(dtype)


def _of_rank(rank):
    return lambda t: paddle.ones([2, 1, 3, 1, 2, 1, 2][:rank], t.dtype)


SPOILT = {f"dtype {d}": _of_dtype(d) for d in ("bool", "uint8", "int64", "float16", "float64", "complex64")}
SPOILT |= {f"rank {r}": _of_rank(r) for r in (0, 1, 2, 4, 7)}
SPOILT |= {
    "empty": lambda t: paddle.ones([0] * len(t.shape), t.dtype),
    "larger": lambda t: paddle.ones([n + 1 for n in t.shape], t.dtype),
}


@pytest.mark.parametrize("what", SPOILT)
def test_another_tensor(what):
    """A result, or a sentence of ours."""
    wrong = []
    for name, function, text, places in CASES:
        for place, parameter in places:
            e = spoil(name, function, text, place, SPOILT[what])
            if isinstance(e, Exception):
                said = (str(e).splitlines() or [""])[0]
                if not said.startswith(WORDS) or not isinstance(e, (ValueError, RuntimeError)):
                    wrong.append(f"{name}({parameter}): {type(e).__name__} {said[:140]}")
    assert "\n".join(wrong) == ""
