"""Hooks on tensors, leaves and nodes; grad_fn; and that none of it leaks."""

import gc
import traceback
import weakref

import numpy as np
import pytest

import proa
from proa import _C


def _leaf(*values):
    return proa.to_tensor(list(values), dtype="float64", stop_gradient=False)


@pytest.fixture(autouse=True)
def _no_garbage_before():
    gc.collect()


# Tensor hooks


def test_order_and_removal():
    x = _leaf(1.0)
    y = x * 2
    seen = []
    first = y.register_hook(lambda g: seen.append(("first", g.item())))
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: seen.append(("last", g.item())))
    y.backward(retain_graph=True)
    assert seen == [("first", 1.0), ("last", 2.0)]
    assert x.grad.item() == 4.0
    assert first.remove() is True
    assert first.remove() is False
    y.backward()
    assert seen[2:] == [("last", 2.0)]


def test_hook_on_a_leaf_sees_the_sum_of_a_pass_before_it_accumulates():
    x = _leaf(3.0)
    seen = []
    x.register_hook(lambda g: seen.append((g.item(), None if x.grad is None else x.grad.item())))
    (x * x + x).backward()
    (x * 2).backward()
    assert seen == [(7.0, None), (2.0, 7.0)]


def test_hook_that_removes_itself_while_it_runs():
    x = _leaf(1.0)
    seen = []
    handles = [x.register_hook(lambda g: seen.append(handles[0].remove()))]
    x.register_hook(lambda g: seen.append("other"))
    (x * 2).backward()
    (x * 2).backward()
    assert seen == [True, "other", "other"]


def test_hook_that_adds_a_hook():
    x = _leaf(1.0)
    seen = []
    x.register_hook(lambda g: x.register_hook(lambda g: seen.append(1)) and None)
    (x * 2).backward()
    assert seen == []
    (x * 2).backward()
    assert seen == [1]


def test_register_and_remove_again_and_again_does_not_pile_up():
    x = _leaf(1.0)
    freed = []
    for _ in range(100):

        def hook(grad):
            raise AssertionError("was removed")

        weakref.finalize(hook, freed.append, 1)
        x.register_hook(hook).remove()
        del hook
    assert len(freed) == 100
    (x * 2).backward()


@pytest.mark.parametrize(
    ("result", "error", "says"),
    [
        (
            lambda g: proa.ones([2], "float64"),
            ValueError,
            r"returned \[2\] float64 for a gradient that is \[1\] float64",
        ),
        (lambda g: g.astype("float32"), ValueError, r"returned \[1\] float32"),
        (lambda g: 3.0, TypeError, "must return a Tensor or None, not float"),
        (lambda g: (g,), TypeError, "must return a Tensor or None, not tuple"),
    ],
)
def test_what_a_hook_must_return(result, error, says):
    for tensor, out in [(x := _leaf(1.0), x * 2), (y := _leaf(1.0) * 2, y * 2)]:
        tensor.register_hook(result)
        with pytest.raises(error, match=says):
            out.backward()


def test_exception_of_a_hook_passes_with_its_own_traceback():
    x = _leaf(1.0)

    def my_hook(grad):
        raise LookupError("mine")

    handle = x.register_hook(my_hook)
    y = x * 2
    with pytest.raises(LookupError, match="mine") as caught:
        y.backward(retain_graph=True)
    assert "my_hook" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    handle.remove()
    y.backward()
    assert x.grad.item() == 2.0


def test_hooks_need_a_gradient_and_a_function():
    with pytest.raises(ValueError, match="register_hook: x does not require grad"):
        proa.ones([1]).register_hook(print)
    with pytest.raises(TypeError, match="register_hook: hook must be callable, not int"):
        _leaf(1.0).register_hook(3)


def test_retain_grads():
    x = _leaf(2.0)
    y = x * 3
    y.retain_grads()
    y.register_hook(lambda g: g * 10)
    z = y * y
    z.backward()
    assert y.grad.item() == 120.0  # after the hooks
    assert x.grad.item() == 360.0
    assert z.grad is None


# Leaves, after accumulation


def test_post_accumulate_grad_hook():
    x = _leaf(3.0)
    seen = []

    def step(tensor):
        assert tensor is x
        seen.append(tensor.grad.item())
        with proa.no_grad():
            tensor.subtract_(tensor.grad)
        tensor.clear_gradient(set_to_zero=False)

    handle = x.register_post_accumulate_grad_hook(step)
    (x * x + x).backward()
    assert seen == [7.0]
    assert x.item() == -4.0
    assert x.grad is None
    assert handle.remove()
    (x * x).backward()
    assert len(seen) == 1
    proa.grad(x * x, x)  # accumulates nowhere
    assert len(seen) == 1


def test_backward_hook_without_argument():
    x = _leaf(3.0)
    seen = []
    x._register_backward_hook(lambda: seen.append(x.grad.item()))
    (x * x).backward()
    assert seen == [6.0]


def test_post_accumulate_grad_hook_is_for_leaves():
    with pytest.raises(ValueError, match="only a leaf that requires grad .* which an op made"):
        (_leaf(1.0) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(ValueError, match="does not require grad"):
        proa.ones([1])._register_backward_hook(print)
    with pytest.raises(TypeError, match="must be callable"):
        _leaf(1.0).register_post_accumulate_grad_hook(None)


# Nodes


def test_grad_fn():
    x, c = _leaf(2.0), proa.to_tensor([3.0], dtype="float64")
    y = x * c
    z = proa.exp(y)
    assert x.grad_fn is None
    assert c.grad_fn is None
    node = z.grad_fn
    assert node.name() == "exp"
    assert repr(node) == "<GradNode exp>"
    assert node.input_names == ("x",)
    ((following, slot),) = node.next_functions
    assert (following, slot) == (y.grad_fn, 0)
    assert hash(following) == hash(y.grad_fn)
    assert following != node
    assert following.input_names == ("x", "y")
    (leaf, _), (nothing, _) = following.next_functions
    assert leaf.name() == "accumulate_grad"
    assert leaf.next_functions == ()
    assert nothing is None
    assert weakref.ref(node)() is node
    assert node.forward_place == ""
    with pytest.raises(TypeError, match="grad_fn"):
        type(node)()


def test_slots_and_list_names():
    x = _leaf(1.0, 2.0, 3.0)
    a, b, _ = proa.unbind(x.reshape([3, 1]))
    out = proa.concat([a, b, a])
    assert out.grad_fn.input_names == ("xs[0]", "xs[1]", "xs[2]")
    assert [slot for _, slot in out.grad_fn.next_functions] == [0, 1, 0]


def test_node_hooks():
    x, w = _leaf(2.0), _leaf(5.0)
    y = x * w
    log = []
    pre = y.grad_fn.register_prehook(lambda grads: log.append(("pre", [g.item() for g in grads])))
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_hook(
        lambda inputs, grads: log.append(("post", inputs[0].item(), inputs[1].item(), grads[0].item()))
    )
    y.grad_fn.register_hook(lambda inputs, grads: (inputs[0] + 1, None))
    y.backward(retain_graph=True)
    assert log == [("pre", [1.0]), ("post", 50.0, 20.0, 10.0)]
    assert x.grad.item() == 51.0
    assert w.grad is None
    assert pre.remove()
    y.backward()
    assert len(log) == 3


def test_node_hooks_errors():
    y = _leaf(2.0) * _leaf(3.0)

    def check(register, hook, error, says):
        handle = register(hook)
        with pytest.raises(error, match=says):
            y.backward(retain_graph=True)
        handle.remove()

    node = y.grad_fn
    check(node.register_prehook, lambda g: 3, TypeError, "register_prehook: a hook must return a tuple")
    check(node.register_prehook, lambda g: (g[0], g[0]), ValueError, "returned 2 gradients for 1")
    check(node.register_prehook, lambda g: ("x",), TypeError, "gradient 0 .* not str")
    check(node.register_hook, lambda i, g: (i[0],), ValueError, "register_hook: a hook returned 1 gradients for 2")
    check(node.register_hook, lambda i, g: (i[0].astype("float32"), None), ValueError, "into .* float32")
    check(node.register_hook, lambda i, g: 1 / 0, ZeroDivisionError, "division")
    with pytest.raises(TypeError, match="must be callable"):
        node.register_hook(None)
    y.backward()


def test_hooks_on_the_node_of_a_leaf():
    x = _leaf(2.0)
    leaf = (x * 3).grad_fn.next_functions[0][0]
    seen = []
    leaf.register_prehook(lambda grads: (grads[0] * 2,))
    leaf.register_hook(lambda inputs, grads: seen.append((inputs, grads, x.grad.item())))
    (x * 3).backward()
    assert seen == [((), (), 6.0)]


# Leaks


def _gone(make):
    """True if what `make` returns a weak reference to has gone, at the latest after a collection."""
    ref = make()
    gc.collect()
    return ref() is None


def test_hooks_that_refer_to_their_tensor_are_collected():
    def on_leaf():
        x = _leaf(1.0)
        x.register_hook(lambda g: x)
        return weakref.ref(x)

    def on_leaf_with_handle():
        x = _leaf(1.0)
        handle = x.register_hook(lambda g: (x, handle) and None)
        return weakref.ref(x)

    def on_non_leaf():
        y = _leaf(1.0) * 2
        y.register_hook(lambda g: y)
        return weakref.ref(y)

    def used_further():
        y = _leaf(1.0) * 2
        y.register_hook(lambda g: y)
        z = y * y
        z.backward()
        return weakref.ref(y)

    def after_accumulation():
        x = _leaf(1.0)
        x.register_post_accumulate_grad_hook(lambda t: x)
        return weakref.ref(x)

    def through_grad_fn():
        node = (_leaf(1.0) * 2).grad_fn
        node.register_hook(lambda i, g: node and None)
        return weakref.ref(node)

    for make in (on_leaf, on_leaf_with_handle, on_non_leaf, used_further, after_accumulation, through_grad_fn):
        assert _gone(make), make.__name__


def test_hooks_are_kept_while_the_graph_needs_them():
    x = _leaf(1.0)
    seen = []

    def graph():
        y = x * 2
        y.register_hook(lambda g: seen.append(y.item()))
        return y * 3

    z = graph()
    gc.collect()
    z.backward()
    assert seen == [2.0]


def test_in_place_and_higher_order_make_no_cycle():
    gc.disable()
    try:
        before = _live_bytes()
        for _ in range(3):
            w = proa.to_tensor(np.ones(100_000, "float32"), stop_gradient=False)
            x = w * 1.0
            x.add_(x * w)
            x.multiply_(x)
            loss = (w * w * w).sum()
            (g,) = proa.grad(loss, w, create_graph=True)
            g.sum().backward()
            del w, x, loss, g
        assert _live_bytes() - before < 100_000
    finally:
        gc.enable()


def _live_bytes():
    return _C.memory_figures()["allocated"]


def test_hooks_that_refer_to_several_results_are_collected():
    """They share a node, which each of them owns."""

    def by_one_hook():
        a, b = proa.split(_leaf(1.0, 2.0) * 1, 2)
        a.register_hook(lambda g: (a, b) and None)
        return weakref.ref(a)

    def by_hooks_on_each():
        a, b = proa.unbind(_leaf(1.0, 2.0) * 1)
        a.register_hook(lambda g: (a, b) and None)
        b.register_hook(lambda g: (a, b) and None)
        return weakref.ref(b)

    def of_a_tuple():
        a, b = proa._C.ops.sign_logdet(proa.eye(2, dtype="float64") * _leaf(2.0))
        b.register_hook(lambda g: (a, b) and None)
        return weakref.ref(a)

    def with_the_node():
        a, b = proa.split(_leaf(1.0, 2.0) * 1, 2)
        node = a.grad_fn
        node.register_prehook(lambda grads: (node, b) and None)
        return weakref.ref(b)

    def after_backward():
        a, b = proa.split(_leaf(1.0, 2.0) * 1, 2)
        a.register_hook(lambda g: (a, b) and None)
        (a * b).backward()
        return weakref.ref(a)

    for make in (by_one_hook, by_hooks_on_each, of_a_tuple, with_the_node, after_backward):
        assert _gone(make), make.__name__


def test_hooks_of_several_results_are_kept_while_one_is_needed():
    x = _leaf(1.0, 2.0)
    seen = []

    def graph(k):
        parts = proa.split(x * 1, 2)
        parts[0].register_hook(lambda g: seen.append([p.item() for p in parts]))
        return parts[k] * 3

    for k in range(2):
        z = graph(k)
        gc.collect()
        gc.collect()
        (z + graph(0)).backward()
    assert seen == [[1.0, 2.0]] * 3


def test_a_removed_hook_is_let_go_however_many_own_its_node():
    a, b = proa.split(_leaf(1.0, 2.0) * 1, 2)

    class Hook:
        def __call__(self, g):
            return None

    hook = Hook()
    gone = weakref.ref(hook)
    handle = a.register_hook(hook)
    del hook
    gc.collect()  # counts the owners in
    assert gone() is not None
    handle.remove()
    assert gone() is None and b.item() == 2.0
