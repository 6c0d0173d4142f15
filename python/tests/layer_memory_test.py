"""Making and dropping layers leaves nothing behind: no names, no counters, no hooks."""

import copy
import gc
import os
import sys
import tracemalloc

import pytest

import proa
from proa import nn

pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in AddressSanitizer's quarantine"
)


def _resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _used():
    layer = nn.Linear(2, 2)
    layer.register_forward_post_hook(lambda *_: None)
    layer.weight.register_hook(lambda g: g)
    optimizer = proa.optimizer.Adam(parameters=layer.parameters())
    layer(proa.ones([1, 2])).sum().backward()
    optimizer.step()


_MAKE = {
    "Linear": (lambda: nn.Linear(2, 2), 20_000),
    "a layer that was trained": (_used, 1_000),
    "copies": (lambda: copy.deepcopy(nn.Linear(2, 2)), 3_000),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), 300),
    "LSTM": (lambda: nn.LSTM(2, 2), 500),
    "tensors of a layer": (lambda: nn.Layer().create_variable(), 3_000),
}


@pytest.mark.parametrize("kind", _MAKE)
def test_process_does_not_grow(kind):
    make, times = _MAKE[kind]
    for _ in range(times // 4):
        make()
    grown = []
    for _ in range(2):  # once, what is made of the first kind may have been
        gc.collect()
        before = _resident_bytes()
        for _ in range(times):
            make()
        gc.collect()
        grown.append((_resident_bytes() - before) / times)
    assert min(grown) < 32, f"bytes for each of {times}: {grown}"


@pytest.mark.parametrize("kind", _MAKE)
def test_python_keeps_nothing(kind):
    make, _ = _MAKE[kind]
    for _ in range(50):
        make()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(10):
            make()
        gc.collect()
        sys._clear_type_cache()  # which holds names that attributes were looked up by
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            make()
        gc.collect()
        sys._clear_type_cache()
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept < 200 * 32, f"{kept} bytes after 200 of them"


def test_names_stay_unique():
    layers = [nn.Linear(2, 2) for _ in range(3)]
    layers += [copy.deepcopy(layers[0]), copy.deepcopy(layers[0]), copy.deepcopy(copy.deepcopy(layers[0]))]
    more = [layer.create_parameter([1]) for layer in layers for _ in range(2)]
    names = [p.name for layer in layers for p in layer.parameters()] + [p.name for p in more]
    assert len(set(names)) == len(names), names
    with proa.utils.unique_name.guard("part_"):
        layer = nn.Linear(2, 2)
        assert layer.weight.name.startswith("part_") and layer.weight.name != layer.bias.name
