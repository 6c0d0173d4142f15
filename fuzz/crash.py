"""Why a process died, from its status and what it wrote to stderr."""

from __future__ import annotations

import re
import signal

_FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in (.+?) ([\w/.+-]+:\d+)")
_KIND = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)|runtime error: ([^\n]+)")
# What the crash handler of the package writes (diagnostics/crash_handler.h).
_OPS = re.compile(r"\*\*\* ops that run: (.*?) on thread")
_HANDLER_FRAME = re.compile(r"\*\*\* +#\d+ \S*?([\w.+-]+ \+0x[0-9a-f]+)")
_FATAL = re.compile(r"(Check failed: [^\n]*|terminate called[^\n]*|what\(\): [^\n]*|Fatal Python error: [^\n]*)")


def cause(status: int, said: str) -> str:
    """One line that names the fault and where it is; equal for equal causes."""
    kind = _KIND.search(said)
    if kind:
        frames = [f"{_short(name)} {where}" for name, where in _FRAME.findall(said) if "proa" in name]
        return f"{kind[1] or kind[2]}: " + " < ".join(frames[:3])
    fatal = _FATAL.findall(said)
    if fatal:
        return "; ".join(fatal[:2])
    number = -status if status < 0 else status & 0x7F
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"status {status}"
    ops, frames = _OPS.search(said), _HANDLER_FRAME.findall(said)
    return name + (f" in {ops[1]}" if ops else "") + "".join(f" {at}" for at in frames[:2])


def _short(name: str) -> str:
    """`proa::v0::ops::cpu::Gather(...)` without namespaces, templates and arguments."""
    name = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", name))
    name = re.split(r"\(", name.replace("(anonymous namespace)::", ""))[0]
    return name.split("::")[-1] if "::" in name else name
