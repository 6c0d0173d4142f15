"""A few of the runs of kill_matrix, which has all of them."""

import pytest

from python.tests import kill_matrix


@pytest.mark.parametrize(
    "phase, name, victim",
    [
        ("all_reduce", "SIGKILL", "1"),
        ("checkpoint", "SIGKILL", "0"),
        ("all_reduce", "SIGSTOP", "1"),
        ("forward", "SIGKILL", "launcher"),
        ("checkpoint", "SIGTERM", "launcher"),
    ],
)
def test_ends_or_goes_on(phase, name, victim):
    assert kill_matrix.run(phase, name, victim, 0) == ""


def test_every_phase_signal_and_victim():
    found = list(kill_matrix.combinations())
    assert len(set(found)) == len(found) == 43
    assert kill_matrix.wanted(2) == 3.0 + (3.0 + 3.0)
