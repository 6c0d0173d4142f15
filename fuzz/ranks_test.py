"""Every op by name, with each operand in turn at ranks and sizes that its sample does not have."""

import os

from fuzz import corpus, generate, ranks, replay, supervisor

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


def _gives_in_a_program(f, *args, **kwargs):
    """Of a call that is refused at once: what its program with open sizes gives, None if it is refused too."""
    args, kwargs = replay.detached(args), replay.detached(kwargs)  # a leaf must not be changed in place; inputs may
    try:
        f(*args, **kwargs)
        return None
    except Exception as e:  # pylint: disable=broad-except
        refusal = e
    _refused.append(f)
    try:
        got = replay.record_open(f, *args, **kwargs)
    except Exception:  # pylint: disable=broad-except
        return None
    return f"gives {[list(a.shape) for a in got]}, at once {refusal}" if got else None


_refused: list = []


def test_programs_refuse_what_is_refused_at_once(tmp_path):
    seeds = str(tmp_path / "corpus.json")
    corpus.write(seeds)
    names = {**vars(replay), "call": _gives_in_a_program}
    texts = dict.fromkeys(ranks.Generator(generate.load(seeds)).texts("call"))
    found = []
    for text in texts:
        replay.reset()
        says = eval(compile(text, "case", "eval"), names)  # pylint: disable=eval-used
        if says is not None:
            found.append(f"{text}: {says}")
    replay.reset()
    assert not found, "\n".join(found)
    assert len(_refused) > 5000


def test_each_operand_of_each_op_is_changed():
    right = "call(f, tensor('float32', [4, 4]), [tensor('int64', [4], values=(0, 3))], axis=1)"
    cases = ranks.Generator({"seeds": {"op": ["call(f, tensor('float32', [5, 5]))", right, right.replace("4", "5")]}})
    assert len(cases) == 2 * len(ranks._DIMS)
    texts = [cases.case(n) for n in range(len(cases))]
    assert texts[0] == ("call(f, tensor('float32', [], grad=True), [tensor('int64', [4], values=(0, 3))], axis=1)")
    assert all("tensor('int64', [4]" in t for t in texts[: len(ranks._DIMS)])
    assert all("tensor('float32', [4, 4]" in t for t in texts[len(ranks._DIMS) :])
