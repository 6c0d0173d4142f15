"""What a call refuses at once a program refuses too: when it is recorded, or when it runs.

The calls of public_cases.py are right. Of each, one tensor in turn is another one: of another dtype, rank or size, or
its integers are of no row, no class, no length. Where the eager call raises, the call is recorded twice - with the
sizes of its tensors, and with none of them known - and must not give a result.
"""

import warnings

import pytest

import proa as paddle
from ops.conformance import suite
from proa import _C
from python.tests.public_cases import Case, public_cases


def _of_dtype(dtype):
    return lambda t: t.astype(dtype)


def _of_rank(rank):
    return lambda t: paddle.ones([2, 1, 3, 1, 2][:rank], t.dtype)


def _integers(change):
    def changed(t):
        return change(t) if t.dtype.name.startswith(("int", "uint")) else None

    return changed


CHANGES = {f"dtype {d}": _of_dtype(d) for d in ("bool", "uint8", "int64", "float16", "float64", "complex64")}
CHANGES |= {f"rank {r}": _of_rank(r) for r in range(6)}
CHANGES |= {
    "empty": lambda t: paddle.zeros([0] * t.ndim, t.dtype),
    "without rows": lambda t: paddle.zeros([0, *t.shape[1:]], t.dtype) if t.ndim else None,
    "without columns": lambda t: paddle.zeros([*t.shape[:-1], 0], t.dtype) if t.ndim else None,
    "larger": lambda t: paddle.ones([n + 1 for n in t.shape], t.dtype),
    "smaller": lambda t: paddle.ones([max(n - 1, 0) for n in t.shape], t.dtype),
    "a row": lambda t: t[:1] if t.ndim else None,
    "one more row": lambda t: paddle.concat([t, t[:1]]) if t.ndim and t.shape[0] else None,
    "one more column": lambda t: paddle.concat([t, t[..., :1]], -1) if t.ndim and t.shape[-1] else None,
    "ones": lambda t: paddle.ones([1] * t.ndim, t.dtype),
    "integers below 0": _integers(lambda t: t * 0 - 1),
    "integers far below 0": _integers(lambda t: t * 0 - 100),
    "integers too large": _integers(lambda t: t + 100),
    "one integer too large": _integers(lambda t: t + paddle.nn.functional.one_hot(paddle.zeros([1], "int64"), t.numel().item()).astype(t.dtype).reshape(t.shape) * 50 if t.numel() else None),
    "zeros": _integers(lambda t: t * 0),
    "not in order": _integers(lambda t: t.reshape([-1]).flip(0).reshape(t.shape) * 3),
}  # fmt: skip

# (function, change): why a program may give a result.
ALLOWED = {
    (
        "linalg.solve",
        "a row",
    ): "recorded as vectors, which the batch of one is broadcast to; by sizes a matrix that does not fit",
}


def _changed(tensor, change):
    try:
        return CHANGES[change](tensor)
    except Exception:  # the tensor cannot be changed so
        return None


def program_of(function, tensors, known):
    """A recorded call: (program, feeds, outputs)."""
    program, feeds = _C.Program(), {}
    inputs = []
    for t in tensors:
        name = f"x{len(feeds)}"
        feeds[name] = t.detach()
        inputs.append(program.add_input(name, list(t.shape) if known else [-1] * t.ndim, t.dtype))
    with program.recording():
        outputs = function(*inputs)
    return program, feeds, outputs


def accepted(function, tensors, known):
    """Whether a program of the call gives something."""
    try:
        program, feeds, outputs = program_of(function, tensors, known)
        symbolic = [t for t in outputs if _C.is_symbolic(t)]
        results = program.run(feeds, symbolic) if symbolic else outputs
    except Exception:
        return None
    return [list(t.shape) for t in results]


def holes(name, function, texts):
    """(what is wrong, how many calls were compared)."""
    found, asked = [], 0
    for text in texts:
        text = text.replace(".T", "")
        try:
            case = Case(name, text, function)
        except ValueError:  # two calls in one text
            continue
        count = len(case.bind(*case.arguments())[0])
        for place in range(count):
            for change in CHANGES:
                tensors, call = case.bind(*case.arguments())
                tensors[place] = _changed(tensors[place], change)
                if tensors[place] is None:
                    continue
                try:
                    call(*[t.clone() for t in tensors])
                    continue
                except Exception as e:
                    error = e
                for known in (True, False):
                    asked += 1
                    shapes = accepted(call, tensors, known)
                    if shapes is not None and (name, change) not in ALLOWED:
                        sizes = "sizes known" if known else "open sizes"
                        said = (str(error).splitlines() or [""])[0][:200]
                        found.append(
                            f"{name}({text}), tensor {place}, {change}, {sizes}: gives {shapes}; at once {said}"
                        )
    return found, asked


FUNCTIONS = {name: (function, texts) for name, function, texts in public_cases()}
# What works in place, of what `public_cases` has without.
for op in suite.all_ops().values():
    if op.inplace and hasattr(paddle.Tensor, f"{op.name}_"):
        FUNCTIONS.setdefault(f"Tensor.{op.name}_", (getattr(paddle.Tensor, f"{op.name}_"), op.samples))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = holes(name, *FUNCTIONS[name])
    assert not found, "\n".join(found)


if __name__ == "__main__":
    import sys
    import time

    warnings.simplefilter("ignore")
    total = 0
    start = time.time()
    for name in sys.argv[1:] or FUNCTIONS:
        found, asked = holes(name, *FUNCTIONS[name])
        total += asked
        for line in found:
            print(line, flush=True)
    print(total, "calls refused at once,", len(FUNCTIONS), "functions", time.time() - start, "s")
