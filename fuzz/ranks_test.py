"""Every op by name, with each operand in turn at ranks and sizes that its sample does not have."""

import os

from fuzz import corpus, generate, ranks, supervisor

_GUARD = "fuzz/guard.so" if os.path.exists("fuzz/guard.so") else os.environ.get("PROA_GUARD")


def test_no_operand_of_another_rank_is_trusted(tmp_path):
    seeds = str(tmp_path / "corpus.json")
    corpus.write(seeds)
    cases = ranks.Generator(generate.load(seeds))
    watch = supervisor.Supervisor(seeds, str(tmp_path), 0, 1, [ranks.KIND], False, guard=_GUARD)
    watch.run(len(cases), 900)
    found = "\n".join(f"# {f.kind}, {f.count} times: {f.says}\n{f.text}" for f in watch.findings.values())
    assert not found, found
    assert sum(watch.counts.values()) == len(cases)
    # Broadcasting takes some of them; most are refused, and by a sentence.
    refused = sum(n for name, n in watch.counts.items() if name.endswith(" refused"))
    assert len(cases) / 2 < refused < len(cases)


def test_each_operand_of_each_op_is_changed():
    right = "call(f, tensor('float32', [4, 4]), [tensor('int64', [4], values=(0, 3))], axis=1)"
    cases = ranks.Generator({"seeds": {"op": ["call(f, tensor('float32', [5, 5]))", right, right.replace("4", "5")]}})
    assert len(cases) == 2 * len(ranks._DIMS)
    texts = [cases.case(n) for n in range(len(cases))]
    assert texts[0] == ("call(f, tensor('float32', [], grad=True), [tensor('int64', [4], values=(0, 3))], axis=1)")
    assert all("tensor('int64', [4]" in t for t in texts[: len(ranks._DIMS)])
    assert all("tensor('float32', [4, 4]" in t for t in texts[len(ranks._DIMS) :])
