"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

from proa.jit.reference.rule import CODES, Longs, Value, cast, known, op, refuse, result, shape_tensor


def _shape(shape):
    """Inputs and attributes of the ops that take a shape."""
    if isinstance(shape, Value):
        return {"ShapeTensor": shape_tensor(shape)}, {"shape": Longs()}
    if any(d < 0 for d in shape):
        refuse("a tensor of a size that is open", "give it in input_spec")
    return {}, {"shape": Longs(shape)}


def pdmodel_full(shape, value, dtype, place):
    if isinstance(value, Value):
        refuse("a tensor filled with a number that is known only when the program runs")
    inputs, attributes = _shape(shape)
    number = float(value.real if isinstance(value, complex) else value)
    text = str(int(value)) if isinstance(value, (bool, int)) else repr(number)
    more = {"value": number, "str_value": text, "dtype": CODES[result().dtype]}
    return op("fill_constant", inputs, {**attributes, **more}, dtype=result().dtype)


def pdmodel_full_like(x, value, dtype):
    number = {"value": float(known(value, "value")), "dtype": CODES[result().dtype]}
    return op("fill_any_like", {"X": x}, number, dtype=result().dtype)


def pdmodel_uniform(shape, dtype, min, max, seed, place):
    inputs, attributes = _shape(shape)
    more = {"min": float(known(min, "min")), "max": float(known(max, "max")), "seed": seed}
    return op("uniform_random", inputs, {**attributes, **more, "dtype": CODES[result().dtype]})


def pdmodel_gaussian(shape, dtype, mean, std, seed, place):
    inputs, attributes = _shape(shape)
    more = {"mean": mean, "std": std, "seed": seed, "dtype": CODES[result().dtype]}
    return op("gaussian_random", inputs, {**attributes, **more})


def pdmodel_randint(low, high, shape, dtype, seed, place):
    inputs, attributes = _shape(shape)
    low, high = (0, low) if high is None else (low, high)
    return op("randint", inputs, {**attributes, "low": low, "high": high, "seed": seed, "dtype": CODES[result().dtype]})


def pdmodel_store_(x, value):
    if value.name != x.name:  # batch normalization changes its statistics itself
        op("assign", {"X": cast(value, x.dtype)}, into=x)
    return []
