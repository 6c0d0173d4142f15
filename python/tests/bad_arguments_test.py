"""Each argument of each public function, layer and class in turn is what it cannot be: text for a number, None, NaN, 2^62, an object.

The calls are right (public_cases.py, layer_cases.py, room_cases.py); then one argument is each of BAD. A call runs, or it
raises an error of ours that says where and what: never one of Python's from the inside of a function. Overflow of int64
is an OverflowError that says so.
"""

import inspect
import itertools
import re
import warnings

import pytest

import proa as paddle
from proa import nn
from python.tests import room_cases
from python.tests.layer_cases import LAYERS
from python.tests.public_cases import Case, function_at, public_cases


class Thing:
    def __repr__(self):
        return "<thing>"


BAD: tuple = (-1, 0, "text", None, 1.5, float("nan"), [], [0], {}, 2**62, -(2**63), 2**63, Thing(), b"x", True, 1j)

WORDS = ("(InvalidArgument) ", "(OutOfRange) ", "(NotFound) ", "(PreconditionNotMet) ", "(Unimplemented) ",
         "(ResourceExhausted) ")  # fmt: skip
_OVERFLOW = re.compile(r"does not fit in int64|which int64 does not hold")

# Python asks an index for an index-sized number before we see it.
_OF_PYTHON = {
    ("Tensor.__getitem__", "key=9223372036854775808: IndexError: cannot fit 'int' into an index-sized integer")
}

# What is no attribute of any kind must be refused by the argument's name; other values may be told by what they would do.
OF_NO_NUMBER = (Thing, bytes)
# Names that the text has for an argument, where its function has an older one; and layers' attributes of parameters.
OTHER_NAMES = {
    "1": "operands",
    "2": "operands",
    "base_learning_rate": "learning_rate",
    "data_layout": "data_format",
    "dtype": "DType",
    "epsilon": "eps",
    "inputs": "input",
    "key": "index",
    "num_channels": "num_features",
    "num_or_sections": "sections",
    "padding": "pad",
    "param_attr": "weight_attr",
    "pic": "img",
    "resample": "interpolation",
    "value": "values",
    "x": "input|data|arr",
    "x_lengths": "lengths",
}
# Anything is true or false, bytes are a list, and any two things may have a rule.
OF_ANY_KIND = ("batch", "dataset", "hermitian", "iou_aware", "p", "q", "return_complex", "soft_label")


def is_named(name, value, text):
    """Whether a refusal of what is of no kind of attribute says which argument it is."""
    if not isinstance(value, OF_NO_NUMBER) or name in OF_ANY_KIND:
        return True
    other = OTHER_NAMES.get(name, re.sub("_[ih]h_attr$", "_attr", name))  # of cells the second matrix is a weight too
    return bool(re.search(rf"\b({name}|{other})\b", text))


FUNCTIONS = {name: (function, texts) for name, function, texts in public_cases()}


def is_ours(error):
    """Whether an error is one that this package raises on purpose."""
    text = str(error)
    if isinstance(error, OverflowError):
        return bool(_OVERFLOW.search(text))
    return type(error).__module__.startswith("proa") or text.startswith(WORDS)


def parameters_of(function):
    """Names of the parameters that a caller gives, in order; none where Python does not know them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    # Behind `*inputs` the names are of none that are given by position.
    return list(
        itertools.takewhile(
            lambda name: name is not None,
            (None if p.kind == p.VAR_POSITIONAL else p.name for p in parameters if p.kind != p.VAR_KEYWORD),
        )
    )


def places_of(function, args, kwargs):
    """(key, name) of each argument that can be given: positions of `args`, names of the others."""
    names = parameters_of(function)
    for i in range(len(args)):
        # `self` of a method that is written in C is looked at by Python itself.
        if not (i == 0 and inspect.ismethoddescriptor(function)):
            yield i, names[i] if i < len(names) else str(i)
    for name in [*kwargs, *(n for n in names[len(args) :] if n not in kwargs)]:
        if name not in ("name", "download"):  # the first means nothing, the second is a wait for the network
            yield name, name


def bare_errors(call, function, args, kwargs, seen=()):
    """What `call(args, kwargs)` raises that is not ours, for each argument and each of BAD."""
    found = []
    for key, name in places_of(function, args, kwargs):
        if name in seen:
            continue
        for value in BAD:
            other, named = list(args), dict(kwargs)
            (other if isinstance(key, int) else named)[key] = value
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(other, named)
            except Exception as error:  # pylint: disable=broad-except
                if not is_ours(error) or not is_named(name, value, str(error)):
                    found.append(f"{name}={value!r}: {type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, texts = FUNCTIONS[name]
    found, seen = [], set()
    for text in texts:
        try:
            args, kwargs = Case(name, text, function).arguments()
        except ValueError:  # two calls in one text
            continue
        found += bare_errors(lambda a, k: function(*a, **k), function, args, kwargs, frozenset(seen))
        seen |= {parameter for _, parameter in places_of(function, args, kwargs)}
    found = [text for text in found if (name, text) not in _OF_PYTHON]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers(name):
    arguments, text = LAYERS[name]
    kind = getattr(nn, name)
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({arguments})")

    def call(args, kwargs):
        paddle.seed(1)
        layer = kind(*args, **kwargs)
        case = Case(name, text, layer)
        tensors, function = case.bind(*case.arguments())
        function(*tensors)

    found = bare_errors(call, kind, args, kwargs)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room, name", [(room, name) for room, row in room_cases.ROOMS.items() for name in row[0]])
def test_rooms(room, name):
    function = function_at(f"{room}.{name}")
    args, kwargs = room_cases.arguments_of(room_cases.ROOMS[room][0][name])

    def call(args, kwargs):
        room_cases.result_used(room, name, function, args, kwargs)

    if "download=False" not in room_cases.ROOMS[room][0][name]:
        call(args, kwargs)  # is right as it stands
    found = bare_errors(call, function, args, kwargs)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", room_cases.ROOMS)
def test_every_name_of_a_room_has_a_call(room):
    calls, _, without = room_cases.ROOMS[room]
    public = {n for n in function_at(room).__all__ if callable(getattr(function_at(room), n))}
    assert public == {*calls, *without.split()}
