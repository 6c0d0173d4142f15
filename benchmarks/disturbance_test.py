"""What others took is told from what we took, and disturbed measurements are repeated."""

import sys

import disturbance
from disturbance import Measured, busy, calm, watched

_STAT = "cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 100 20 30 4000 500 6 7 8 0 0\n"


class _Fake:
    """A machine on which others take so much, one measurement after the other."""

    def __init__(self, *others, value="value"):
        self.others, self.value, self.calls = others, value, 0

    def __call__(self, function):
        self.calls += 1
        return Measured(function(), self.others[self.calls - 1], 1.0)

    def measure(self):
        return self.value and f"{self.value} {self.calls}"


def _calm(*others, value="value"):
    fake = _Fake(*others, value=value)
    return calm(fake.measure, fake), fake.calls


def test_busy_is_neither_idle_nor_waiting():
    assert busy(_STAT, 100) == 1.71
    assert busy("cpu  0 0 0 0 0 0 0 0 0 0\n", 100) is None
    assert busy("", 100) is None


def test_a_calm_measurement_stands():
    assert _calm(disturbance.BOUND) == (Measured("value 1", disturbance.BOUND, 1.0), 1)


def test_a_disturbed_one_is_repeated_until_one_is_calm():
    assert _calm(0.5, 0.01) == (Measured("value 2", 0.01, 1.0), 2)


def test_it_is_repeated_twice_and_the_least_disturbed_counts():
    assert _calm(0.5, 0.3, 0.4) == (Measured("value 2", 0.3, 1.0), 3)


def test_what_fails_or_cannot_be_told_is_not_repeated():
    assert _calm(0.5, value=None)[1] == 1
    assert _calm(None)[1] == 1


def test_what_this_process_does_is_not_of_others():
    found = watched(lambda: sum(range(1000)))
    assert found.value == 499500
    assert found.others is None or found.others >= 0


def test_a_command_is_run(capfd):
    assert disturbance.main([sys.executable, "-c", "print('figures')"]) == 0
    assert capfd.readouterr().out.startswith("figures\n")
    assert disturbance.main([sys.executable, "-c", "raise SystemExit(2)"]) == 1
