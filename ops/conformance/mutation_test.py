"""The mutation test's own parts: which mutants count, and what is reported. No mutated build is needed."""

import json

from ops.conformance import mutation, suite
from ops.schema import generate

_INDEX = suite.all_ops()


def _mutants():
    out = []
    for family in sorted({op.family for op in _INDEX.values()}):
        out += json.loads(generate.mutants(family, _INDEX)[f"{family}_mutants.json"])
    return out


_MUTANTS = _mutants()


def test_every_entry_of_equivalent_mutants_means_a_mutant_and_gives_a_reason():
    for e in mutation.equivalents():
        assert len(e.reason) > 20, e
        assert any(e.covers(m) for m in _MUTANTS), f"no mutant is meant by {e}"
        for text in e.mutants:
            assert any(m["mutant"] == text and e.covers(m) for m in _MUTANTS), f"{e.ops}: no mutant {text}"


def test_few_mutants_are_equivalent():
    entries = mutation.equivalents()
    reasons = [mutation.reason_of_equivalence(m, entries, _INDEX) for m in _MUTANTS]
    assert sum(map(bool, reasons)) < 0.03 * len(_MUTANTS)


def test_commutative_is_what_the_reference_says():
    assert mutation.commutes(_INDEX["maximum"]) and mutation.commutes(_INDEX["logical_and"])
    assert not mutation.commutes(_INDEX["subtract"]) and not mutation.commutes(_INDEX["greater_than"])
    assert not mutation.commutes(_INDEX["exp"])


def _mutant(number, **values):
    return {
        "id": number,
        "family": "f",
        "op": "mine",
        "input": "x",
        "kind": "sign",
        "original": "g",
        "mutant": f"m{number}",
        "swapped": "",
        **values,
    }


def test_report_counts_what_was_noticed_and_names_the_survivors():
    mutants = [_mutant(n) for n in range(1, 6)]
    outcomes = {1: "AssertionError: gradient", 2: "ValueError: shape", 3: "timeout", 4: "", 5: ""}
    text = mutation.report(mutants, outcomes, {1: "", 2: "", 3: "", 4: "", 5: "the same function"}, 1, 2.0)
    assert "3 of 4 noticed: **75.00 %**; of those that give a number and no error 50.00 %" in text
    assert "| f | 1 | 5 | 1 | 1 | 1 | 1 | 1 |" in text
    assert "- mine, x (sign): `m4` for `g`" in text and "`m5`" not in text
