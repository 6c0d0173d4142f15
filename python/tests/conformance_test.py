"""The conformance suite over one family: that of the target's name, or PROA_FAMILY; else over all.

One test case an op and a kind of check; each loops over the op's samples.
"""

import os
import re

import pytest

import proa
from ops.conformance import bad_input, gradients, references, suite

_TARGET = re.search(r"conformance_(\w+)_test", os.environ.get("TEST_TARGET", ""))
_FAMILY = _TARGET[1] if _TARGET else os.environ.get("PROA_FAMILY")
_OPS = {name: op for name, op in suite.all_ops().items() if _FAMILY in (None, op.family)}
_FUNCTIONAL = [op for op in _OPS.values() if op.outputs and not op.mutates]
_DETERMINED = [op for op in _FUNCTIONAL if references.of(op, "reference")]
_RECORDED = [op for op in _FUNCTIONAL if op.kernel and not op.random]


def _cases(op):
    return [suite.Case(proa, op, sample) for sample in suite.samples_of(op)]


def _each(op, check, cases=None):
    """Runs every case; reports all failures of the op, not only the first."""
    failures = []
    for case in _cases(op) if cases is None else cases:
        try:
            check(case)
        except Exception as e:  # pylint: disable=broad-except
            failures.append(f"{case.where}: {type(e).__name__}: {e}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:8])


def _ids(op):
    return op.name


@pytest.mark.parametrize("op", _OPS.values(), ids=_ids)
def test_has_a_reference(op):
    if not op.samples and op.errors:
        return  # one process cannot call it
    assert references.of(op, "reference") or references.of(op, "check") or op.mutates, (
        f"{op.location}: no reference_{op.name} or check_{op.name} in {op.stem}_samples.py"
    )
    assert op.samples or op.mutates


@pytest.mark.parametrize("op", _DETERMINED, ids=_ids)
def test_forward(op):
    _each(op, suite.check_forward)


@pytest.mark.parametrize("op", [o for o in _OPS.values() if references.of(o, "check")], ids=_ids)
def test_properties(op):
    references.of(op, "check")(proa._C.ops)


@pytest.mark.parametrize("op", _RECORDED, ids=_ids)
def test_meta(op):
    _each(op, suite.check_meta)


@pytest.mark.parametrize("op", _RECORDED, ids=_ids)
def test_recorded(op, tmp_path):
    cases = _cases(op)
    _each(op, lambda case: suite.check_recorded(case, str(tmp_path)), cases[:12])


@pytest.mark.parametrize("op", [o for o in _FUNCTIONAL if o.inplace and not o.random], ids=_ids)
def test_inplace(op):
    _each(op, suite.check_inplace)
    _each(op, gradients.check_inplace)


@pytest.mark.parametrize("op", [o for o in _OPS.values() if o.samples], ids=_ids)
def test_threads(op):
    """Of samples, and of some that are so large that the work is divided among threads."""
    _each(op, suite.check_threads)
    _each(op, suite.check_threads, suite.large_cases(proa, op))


@pytest.mark.parametrize("op", [o for o in _OPS.values() if o.samples], ids=_ids)
def test_memory(op):
    _each(op, suite.check_memory)


@pytest.mark.parametrize("op", _FUNCTIONAL, ids=_ids)
def test_channels_last(op):
    """Of samples with images, and of others where they may be images."""
    _each(op, suite.check_channels_last)
    _each(op, suite.check_channels_last, suite.image_cases(proa, op))


@pytest.mark.parametrize("op", [o for o in _OPS.values() if o.grad], ids=_ids)
def test_gradients(op):
    found = gradients.failures(proa, op)
    assert not found, f"{len(found)} failures\n" + "\n".join(found[:8])


@pytest.mark.parametrize("op", [o for o in _DETERMINED if o.grad and not o.random], ids=_ids)
def test_recorded_gradients(op):
    for unknown_dims in (False, True):
        _each(op, lambda case: gradients.check_recorded(case, unknown_dims), gradients.cases(proa, op))


@pytest.mark.parametrize("op", [o for o in _OPS.values() if o.errors], ids=_ids)
def test_errors(op):
    suite.check_errors(proa, op)


@pytest.mark.parametrize("op", [o for o in _FUNCTIONAL if any(p.is_tensor for p in o.params)], ids=_ids)
def test_none(op):
    suite.check_none(proa, op)


@pytest.mark.parametrize("op", [o for o in _OPS.values() if o.samples], ids=_ids)
def test_bad_input(op):
    found = [wrong for bad in bad_input.cases(proa, op) if (wrong := bad_input.judge(proa, op, bad))]
    assert not found, f"{len(found)} answers are wrong\n" + "\n".join(found[:12])


def test_registry_and_schemas_agree():
    registered = {d["name"] for d in proa._C.op_registry()}
    for name, op in _OPS.items():
        assert name in registered
        assert op.inplace is None or name + "_" in registered
