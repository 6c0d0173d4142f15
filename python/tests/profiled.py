"""A small program to be profiled, for the tests of proa.profiler."""

import xml.etree.ElementTree as ElementTree

import proa
from proa import profiler


def quiet(prof):
    """A handler that does nothing."""


def recorded(body, **options):
    with profiler.Profiler(on_trace_ready=quiet, **options) as prof:
        body()
    return prof.profiler_result


def named(result, category):
    return [e["name"] for e in result.events() if e["category"] == category]


class Net(proa.nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = proa.nn.Linear(8, 16)
        self.out = proa.nn.Linear(16, 2)

    def forward(self, x):
        return self.out(proa.nn.functional.relu(self.hidden(x)))


def train(steps=2, prof=None):
    net = Net()
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    data = proa.io.TensorDataset([proa.ones([4 * steps, 8])])
    for (x,) in proa.io.DataLoader(data, batch_size=4):
        net(x).mean().backward()
        sgd.step()
        sgd.clear_grad()
        if prof is not None:
            prof.step(4)


def parse_xml(path):
    """The page of an HTML report, which is XML too."""
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>")
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>"))
