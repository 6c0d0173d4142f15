"""Functions whose lists, dicts and objects hold values of several kinds by a tensor; and what no `try` handles."""

import collections
import dataclasses

import proa as paddle
import proa.nn.functional as F
from python.tests.converted_registry import refused, supported


@supported
def none_in_a_list(x):
    """A list that holds None or a tensor by a tensor: what follows is recorded in each way"""
    features = [x, None]
    if x.sum() > 0:
        features[1] = x * 2
    out = x
    for feature in features:
        if feature is not None:
            out = out + feature
    return out


@supported
def heads_in_training(x):
    """A dict of outputs to which one way adds a key, returned and asked for it"""
    out = {"main": x * 2}
    if x.max() > 1.5:
        out["aux"] = x * 3
    if x.min() < -1:
        out["extra"] = x.sum(0)
    loss = out["main"].sum()
    for name in ("aux", "extra"):
        if name in out:
            loss = loss + out[name].sum() * 0.3
    return loss, out


@supported
def settings_by_a_tensor(x):
    """Texts and numbers that a dict holds"""
    config = {"mode": "train", "scale": 1.0}
    if x.sum() > 0:
        config["mode"] = "eval"
        config["scale"] = 2.0
    if config["mode"] == "eval":
        return x * config["scale"]
    return x.exp() * config["scale"]


@supported
def mask_or_none(x):
    """A dict that holds None or a tensor, made by a function that returns it"""

    def outputs(t):
        found = {"logits": t, "mask": None}
        if t.sum() > 0:
            found["mask"] = (t > 0).astype("float32")
        return found

    out = outputs(x)
    return out["logits"] if out["mask"] is None else out["logits"] * out["mask"] + 1


@supported
def parts_of_kinds(x):
    """`append` of tuples with a text, in one way; a list of tensors of several dtypes and dims"""
    parts = []
    if x.sum() > 0:
        parts.append(("sum", x * 2))
    if x.max() > 1:
        parts.append(("max", x.sum(0)))
    out = [x]
    for name, part in parts:
        out.append(part * (2 if name == "sum" else 1))
    return out


@supported
def set_of_one_way(x):
    """A set that one way alone adds to"""
    found = {1}
    if x.sum() > 0:
        found.add(2)
    return x * len(found)


@dataclasses.dataclass
class _Outputs:
    logits: object = None
    loss: object = None
    count: int = 0


@supported
def field_or_none(x):
    """A field of a data class that stays None in one way; the object is returned"""
    out = _Outputs(logits=x)
    if x.sum() > 0:
        out.loss = x.abs().mean()
        out.count = 3
    if out.loss is not None:
        return out.logits + out.loss * out.count
    return out.logits


class _Result:
    second = None


@supported
def attribute_of_ways(x):
    """An attribute that the ways of an `if` give values of other kinds, where the class has one of its name"""
    found = _Result()
    if x.sum() > 0:
        found.second = x * 2
    return x if found.second is None else found.second


_Step = collections.namedtuple("_Step", "state output")


@supported
def list_of_dicts(x):
    """A list of dicts that a loop appends to: gone through, counted, the best of them taken"""
    found = []
    for row in x:
        if row.sum() > -1:
            found.append({"score": row.sum(), "row": row})
    best = None
    for one in found:
        if best is None or one["score"] > best["score"]:
            best = one
    if best is None:
        return x.sum(0)
    return best["row"] * best["score"] + paddle.stack([one["row"] for one in found]).sum(0) * len(found)


@supported
def hypotheses_as_dicts(x):
    """A list of dicts of numbers and tensors whose last one each turn reads"""
    steps, n = [{"score": 0.0, "row": x[0]}], paddle.zeros([], "int64")
    while n < (x > 0).astype("int64").sum():
        last = steps[-1]
        steps.append(dict(score=last["score"] + x.mean(), row=last["row"] * 0.9))
        n = n + 1
    return steps[-1]["row"] * steps[-1]["score"] + len(steps)


@supported
def steps_as_named_tuples(x):
    """A list of named tuples that a loop appends to"""
    steps = [_Step(x[0], x[0] * 0)]
    for row in x:
        if row.sum() > 0:
            steps.append(_Step(F.tanh(row + steps[-1].state), steps[-1].output + row))
    return steps[-1].state + steps[-1].output * len(steps)


@supported
def sorted_of_a_made_list(x):
    """`sorted`, `sort`, `max` and `min` of lists that a loop made: of tensors, tuples and dicts, by keys and backwards"""
    sums = sorted([row.sum() for row in x if row.sum() > -10])
    found, pairs = [], []
    for i, row in enumerate(x):
        if row.sum() > -10:
            found.append({"score": row.max(), "row": row})
            pairs.append((row.sum(), i))
    found.sort(key=lambda one: one["score"], reverse=True)
    best, first = max(pairs)
    least, last = min(pairs, key=lambda pair: (pair[1], pair[0]))
    return found[0]["row"] * 3 + found[-1]["row"] + sums[0] + best * first + least * last


@supported
def beams_of_open_steps(x):
    """A beam search as lists of tuples with lists, of which the best two go on, in a loop over steps"""
    beams, n = [(x.sum() * 0, [x[0], x[0] * 2])], paddle.zeros([], "int64")
    while n < (x > 0).astype("int64").sum().clip(0, 3):
        ways = []
        for score, (row, other) in beams:
            ways.append((score + x[n].max(), [row + x[n], other]))
            ways.append((score + x[n].min(), [other, row - x[n]]))
        ways.sort(key=lambda way: way[0], reverse=True)
        beams = ways[:2]
        n = n + 1
    return beams[0][1][0] * beams[0][0] + beams[0][1][1]


@supported
def best_of_a_threshold(x):
    """`min` of a number and a size that values decide: the best of those above a threshold, of each class"""
    found = []
    for k in range(x.shape[1]):
        kept = paddle.nonzero(x[:, k] > 0.1).flatten()
        if kept.shape[0] == 0:
            continue
        best, _ = paddle.topk(paddle.gather(x[:, k], kept), min(2, kept.shape[0]))
        found.append(paddle.stack([paddle.full_like(best, k), best], -1))
    if len(found) == 0:
        return paddle.zeros([1, 2]) - 1
    return paddle.concat(found)


@supported
def handled_and_not(x):
    """`try` around calls that fail, with handlers for all errors, in a function with branches"""

    def width(t):
        try:
            if t.sum() > 1e9:
                t = t * 2
            return t.transpose([0, 0])
        except:  # noqa: E722
            return t.sum()

    try:
        y = {"a": x}["b"]
    except (KeyError, BaseException):
        y = width(x) * x
    return y


@refused("the contents of d differ between the ways of this statement")
def dict_of_a_caller(x):
    """A key that a called function adds to a dict of its caller in one way: return what is added"""

    def fill(d, t):
        if t.sum() > -1e9:
            d["k"] = t * 2
        return t

    found = {"a": x}
    y = fill(found, x)
    return y + found["k"]


@refused(
    "the contents of kept differ between the ways of this statement|a value depends on a tensor, and the ways give"
)
def dict_of_a_closure(x):
    """A dict that a returned function reads, changed in one way: return what it holds"""

    def reader(t):
        kept = {"n": None}
        if t.sum() > -1e9:
            kept["n"] = t * 2
        return lambda: kept["n"]

    read = reader(x)
    return x if read() is None else x + read()


@refused("a dict in a list whose number of items depends on a tensor is read, and not changed")
def dict_of_a_list_changed(x):
    """A dict of a list that a loop made, changed: change it before it is appended"""
    found = []
    for row in x:
        if row.sum() > -1e9:
            found.append({"score": row.sum()})
    found[0]["score"] = found[0]["score"] * 2
    return x * found[0]["score"]


@refused("best: the ways of the statement .* give a tuple of 2 and|best: the ways of the statement .* and a tuple of 2")
def kinds_in_a_turn(x):
    """None, a tensor or a tuple, by a turn of a loop, and read after it: one kind, or None"""
    best, n = None, paddle.zeros([], "int64")
    while n < (x.abs() > 0).astype("int64").sum() * 0 + 3:
        if x[n].sum() > 0:
            best = x[n]
        elif x[n].max() > 0.5:
            best = (x[n], 1)
        n = n + 1
    return x if best is None else best


@refused("in a `try` that may handle it")
def raise_in_a_called_function(x):
    """`raise` by a tensor in a function that is called in a `try` whose handlers take all errors: return what was wrong"""

    def checked(t):
        if t.sum() > 1e9:
            raise RuntimeError("large")
        return t * 2

    try:
        return checked(x)
    except Exception:
        return x - 1


@refused("numpy: a tensor of a program has no elements until the program runs")
def number_in_try(x):
    """`numpy` of a value of the program in a `try` whose handlers take all errors"""
    try:
        count = float(x.sum().numpy())
    except:  # noqa: E722
        count = 0.0
    return x * count
