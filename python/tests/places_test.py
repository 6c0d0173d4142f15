"""What a device computes is what the CPU computes, op by op, forward and backward.

On a GPU, where there is one: every sample of every op. Else on the test plugin's device, whose ops all go by way of the
host: the first samples of each, which shows that the loop sees what it says.
"""

import pathlib

import pytest

import proa
from ops.conformance import places, suite

_PLUGIN = pathlib.Path("tensor/testing/async_device_plugin.so")
_OPS = suite.all_ops()
_SAMPLES_BY_HOST = 1


@pytest.fixture(scope="module")
def place():
    if proa.device.cuda.device_count() > 0:
        return "gpu:0"
    return proa._C.load_device_plugin(str(_PLUGIN.resolve())) + ":0"


@pytest.mark.parametrize("name", sorted(_OPS))
def test_every_op_is_the_same_in_both_places(place, name):
    op = _OPS[name]
    samples = suite.samples_of(op)
    failures = []
    for sample in samples if place.startswith("gpu") else samples[:_SAMPLES_BY_HOST]:
        try:
            places.check(proa, op, sample, place)
        except Exception as e:  # pylint: disable=broad-except
            failures.append(f"{sample.text}: {type(e).__name__}: {e}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:8])


def test_a_difference_is_seen(place, monkeypatch):
    op = _OPS["add"]
    run = places.run

    def off_by_one(lib, an_op, sample, where):
        results = run(lib, an_op, sample, where)
        return results if where == "cpu" else [(n, d, v + 1) for n, d, v in results]

    monkeypatch.setattr(places, "run", off_by_one)
    with pytest.raises(AssertionError, match="result 0"):
        places.check(proa, op, suite.samples_of(op)[0], place)
