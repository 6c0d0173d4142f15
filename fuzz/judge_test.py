"""What counts as an answer, and what as a finding."""

import pytest

from fuzz import crash, judge, replay


def _raise(kind, text):
    raise kind(text)


@pytest.mark.parametrize(
    "kind, text, outcome",
    [
        (ValueError, "add: shapes do not broadcast", "refused"),
        (IndexError, "gather: index 7 is out of range", "refused"),
        (MemoryError, "full: cpu: out of memory", "refused"),
        (SystemError, "returned NULL without setting an exception", "internal"),
        (RuntimeError, "the backward formula of an op is wrong", "internal"),
        (RuntimeError, "std::bad_alloc", "internal"),
        (RecursionError, "maximum recursion depth exceeded", "internal"),
        (AttributeError, "'int' object has no attribute 'shape'", "unclear"),
        (TypeError, "'NoneType' object is not subscriptable", "unclear"),
        (ValueError, "", "unclear"),
        (ValueError, "/tmp/tmpstoim5ln/model: field 7 of Meta is not known", "refused"),
        (ZeroDivisionError, "division by zero", "unclear"),
        (replay.Differs, "recorded: result 0 has other elements", "differs"),
        (replay.BackwardFailed, "ValueError: sizes differ", "backward"),
        (replay.BackwardFailed, "RuntimeError: x was changed in place by relu_", "refused"),
    ],
)
def test_errors(kind, text, outcome, monkeypatch):
    monkeypatch.setattr(replay, "fail", lambda: _raise(kind, text), raising=False)
    assert judge.run("fail()").kind == outcome


def test_results():
    assert judge.run("call(proa.add, tensor('float32', [2, 3]), 1)").kind == "ok"
    # A program that gives other numbers than a call.
    text = "record(lambda x: x + 1 if proa._C.is_symbolic(x) else x, tensor('float32', [2]))"
    assert judge.run(text).kind == "differs"


def test_what_a_case_does_to_the_process_is_undone():
    import proa

    for text in (
        "call(proa.enable_static)",
        "call(proa.set_default_dtype, 'float64')",
        "call(proa.set_grad_enabled, False)",
    ):
        judge.run(text)
        assert not proa._C.in_static_mode() and proa._C.is_grad_enabled() and proa.get_default_dtype() == "float32", (
            text
        )


def test_causes():
    said = (
        "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"
        "    #0 0x7f in memcpy /usr/lib/libasan.c:3\n"
        "    #1 0x7f in proa::v0::ops::cpu::Gather(proa::v0::KernelContext const&) ops/indexing/gather_cpu.cc:72\n"
    )
    assert crash.cause(1, said) == "heap-buffer-overflow: Gather ops/indexing/gather_cpu.cc:72"
    assert crash.cause(-6, "F0101 x.cc:3] Check failed: a == b (1 vs. 2)\n") == "Check failed: a == b (1 vs. 2)"
    said = "*** SIGSEGV\n*** ops that run: take on thread 7\n***   #0 /a/_C.so +0x12\n***   #1 /b/libc.so.6 +0x3\n"
    assert crash.cause(-11, said) == "SIGSEGV in take _C.so +0x12 libc.so.6 +0x3"
