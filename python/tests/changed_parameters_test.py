"""Parameters that a recorded function changes itself, as the teacher of a momentum encoder: values of its program, as buffers are."""

import copy

import numpy as np
import pytest

import proa as paddle
from proa import inference, nn

_RATE = 0.9


def _by_loop(t, s):
    for i in range(t.shape[0]):
        t[i] = t[i] * _RATE + s[i] * (1 - _RATE)


# How a teacher's parameter t follows that of the student s.
WRITES = {
    "set_value": lambda t, s: t.set_value(t * _RATE + s * (1 - _RATE)),
    "copy_": lambda t, s: t.copy_(t * _RATE + s * (1 - _RATE), True),
    "assign": lambda t, s: paddle.assign(t * _RATE + s * (1 - _RATE), t),
    "scale_, add_": lambda t, s: t.scale_(_RATE).add_(s * (1 - _RATE)),
    "lerp_": lambda t, s: t.lerp_(s, 1 - _RATE),
    "all elements": lambda t, s: t.__setitem__(slice(None), t * _RATE + s * (1 - _RATE)),
    "row by row": _by_loop,
    "detached": lambda t, s: t.detach().copy_(t * _RATE + s * (1 - _RATE), True),
}


class _Momentum(nn.Layer):
    """What the student says against what the teacher says, which follows it."""

    def __init__(self, write, own=False, when=None):
        super().__init__()
        self.student, self.teacher = self._net(), self._net()
        self.write, self.own, self.when = write, own, when

    @staticmethod
    def _net():
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))

    def _follow(self):
        with paddle.no_grad():
            for t, s in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
                self.write(t, s)

    def forward(self, x):
        before = self.teacher(x) if self.own else None
        if self.when is None:
            self._follow()
        elif self.when(x):
            self._follow()
        with paddle.no_grad():
            target = self.teacher(x)
        loss = (self.student(x) - target).square().mean()
        return loss if before is None else loss + before.detach().sum()


def _inputs(i):
    return paddle.to_tensor(np.random.default_rng(i).standard_normal((5, 3)).astype("float32"))


def _trained(call, parameters, states):
    """Losses of some steps, and the states at last."""
    optimizer, found = paddle.optimizer.SGD(0.2, parameters=parameters), []
    for i in range(5):
        loss = call(_inputs(i))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(loss.numpy())
    return found + [t.numpy() for t in states]


def _same(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def _two(*args, **kwargs):
    paddle.seed(5)
    net = _Momentum(*args, **kwargs)
    return net, copy.deepcopy(net)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("write", WRITES)
def test_a_teacher_follows(write, frozen):
    net, other = _two(WRITES[write])
    for n in (net, other):
        for p in n.teacher.parameters():
            p.stop_gradient = frozen
    start = [p.numpy().copy() for p in other.teacher.parameters()]
    wanted = _trained(other, other.student.parameters(), other.parameters())
    assert not np.allclose(wanted[-4], start[0])  # it does move
    converted = paddle.jit.to_static(net)
    _same(_trained(converted, net.student.parameters(), net.parameters()), wanted)
    assert all(p.grad is None for p in net.teacher.parameters())
    assert [p.stop_gradient for p in net.teacher.parameters()] == [frozen] * 4


def test_a_function_changes_parameters_of_a_closure():
    net, other = _two(WRITES["set_value"])
    wanted = _trained(other, other.student.parameters(), other.parameters())
    _same(
        _trained(paddle.jit.to_static(lambda x: net(x)), net.student.parameters(), net.parameters()),
        wanted,
    )


@pytest.mark.parametrize("write", WRITES)
def test_a_teacher_follows_when_a_tensor_says(write):
    net, other = _two(WRITES[write], when=lambda x: x.sum() > 0)
    wanted = _trained(other, other.student.parameters(), other.parameters())
    _same(_trained(paddle.jit.to_static(net), net.student.parameters(), net.parameters()), wanted)


def test_both_are_trained():
    """A parameter that is changed, and has a gradient from its use behind that."""

    class Both(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            with paddle.no_grad():
                self.linear.weight.set_value(self.linear.weight / self.linear.weight.norm())
            return self.linear(x).square().mean()

    paddle.seed(2)
    net = Both()
    other = copy.deepcopy(net)
    wanted = _trained(other, other.parameters(), other.parameters())
    _same(_trained(paddle.jit.to_static(net), net.parameters(), net.parameters()), wanted)


def test_what_was_used_before_cannot_be_differentiated():
    """As in eager mode: the backward needs the elements that are overwritten."""

    class Late(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            y = self.linear(x)
            with paddle.no_grad():
                self.linear.weight.scale_(0.5)
            return y.sum()

    for call in (Late(), paddle.jit.to_static(Late())):
        x = _inputs(0)
        x.stop_gradient = False
        with pytest.raises(RuntimeError, match="changed in place"):
            call(x).backward()


def test_outside_of_no_grad_it_is_refused():
    def function(x):
        weight.add_(x)
        return weight.sum()

    weight = paddle.create_parameter([3], "float32")
    for call in (function, paddle.jit.to_static(function)):
        with pytest.raises(RuntimeError, match="requires? grad"):
            call(paddle.ones([3]))


@pytest.mark.parametrize("write", WRITES)
def test_saved_and_loaded(write, tmp_path):
    net, other = _two(WRITES[write])
    wanted = _trained(other, other.student.parameters(), other.parameters())
    path = str(tmp_path / "net")
    paddle.jit.save(net, path, [paddle.static.InputSpec([5, 3], "float32", "x")])
    loaded = paddle.jit.load(path)
    states = loaded.state_dict()
    students = [p for name, p in states.items() if "student" in name]
    names = [name.replace(".", "_") for name, _ in net.named_parameters()]
    by_name = {name.replace(".", "_"): t for name, t in states.items()}
    loaded.train()
    _same(_trained(loaded, students, [by_name[name] for name in names]), wanted)


def test_a_predictor_remembers(tmp_path):
    """It has no gradients, and no Python."""
    net, other = _two(WRITES["set_value"])
    path = str(tmp_path / "net")
    paddle.jit.save(net, path, [paddle.static.InputSpec([5, 3], "float32", "x")])
    predictor = inference.create_predictor(inference.Config(f"{path}.pdmodel", f"{path}.pdiparams"))
    other.eval()
    for i in range(4):
        handle = predictor.get_input_handle(predictor.get_input_names()[0])
        handle.copy_from_cpu(_inputs(i).numpy())
        predictor.run()
        got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        _same([got], [other(_inputs(i)).numpy()])


def test_a_second_handle_is_not_saved(tmp_path):
    """A file would hold the parameter twice, and change one of them."""
    net = _Momentum(lambda t, s: t.set_value(t.detach() * _RATE + s * (1 - _RATE)))
    spec = [paddle.static.InputSpec([5, 3], "float32", "x")]
    with pytest.raises(RuntimeError, match=r"changes 'teacher.0.weight', and uses a tensor in the same memory"):
        paddle.jit.save(net, str(tmp_path / "net"), spec)
    first, other = paddle.jit.to_static(net), copy.deepcopy(net)
    wanted = _trained(other, other.student.parameters(), other.parameters())
    _same(_trained(first, net.student.parameters(), net.parameters()), wanted)
