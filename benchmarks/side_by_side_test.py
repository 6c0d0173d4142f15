"""Rounds become medians, with the worst of what disturbed them beside them."""

import side_by_side
from disturbance import Measured


def _run(measured, names, rounds):
    """`run` with measurements that come from a list, in the order in which they are asked for."""
    return side_by_side.run("script", [], names, rounds, 1, calm=lambda _: measured.pop(0))


def test_median_least_and_the_most_of_the_disturbances(monkeypatch):
    monkeypatch.setattr(side_by_side, "versions", lambda names: dict.fromkeys(names, "1"))
    rounds = [
        Measured({"x": v}, others, load) for v, others, load in ((5.0, 0.0, 1.0), (1.0, 0.2, 3.0), (2.0, 0.1, 2.0))
    ]
    result = _run(rounds, ["proa"], 3)
    assert result["figures"] == {"x": {"proa": {"least": 1.0, "median": 2.0, "load": 3.0, "others": 0.2}}}
    assert result["load"] == [1.0, 3.0]


def test_a_framework_that_fails_is_left_out(monkeypatch):
    monkeypatch.setattr(side_by_side, "versions", lambda names: dict.fromkeys(names, "1"))
    result = _run([Measured({"x": 1.0}, 0.0, 1.0), Measured(None, 0.0, 1.0)], ["proa", "paddle"], 1)
    assert list(result["figures"]["x"]) == ["proa"]


def test_most_is_not_known_if_one_is_not():
    assert side_by_side.most([0.1, 0.3]) == 0.3
    assert side_by_side.most([0.1, None]) is None
    assert side_by_side.most([]) is None
