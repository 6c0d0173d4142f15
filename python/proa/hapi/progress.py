"""ProgressBar: a line that shows how far a loop is."""

import os
import sys
import time


class Costs:
    """What batches took since it was asked last: `loaded` when one is there, `done` when it is computed."""

    def __init__(self):
        self._since = time.perf_counter()
        self._clear()

    def _clear(self):
        self._reading = self._all = 0.0
        self._count = self._samples = 0

    def loaded(self):
        self._reading += time.perf_counter() - self._since

    def done(self, samples):
        now = time.perf_counter()
        self._all += now - self._since
        self._since = now
        self._count += 1
        self._samples += samples

    def values(self):
        """(name, text) pairs, for a line."""
        count, ips = max(self._count, 1), self._samples / self._all if self._all else 0.0
        found = [
            ("avg_reader_cost", f"{self._reading / count:.5f} sec"),
            ("avg_batch_cost", f"{self._all / count:.5f} sec"),
            ("ips", f"{ips:.5f} samples/sec"),
        ]
        self._clear()
        return found


class ProgressBar:
    """Shows steps done, a bar, time and values.

    Args:
        total (int|None): number of steps, if known.
        width (int): characters of the bar.
        stream: where to; standard output unless given.

    On a terminal and in a notebook the line is written anew, cut to the terminal's width where that is known;
    elsewhere (a log file) only the last step gives a line. With `every_line` each update is a line, which has no bar.
    """

    def __init__(self, total=None, width=30, stream=None, every_line=False):
        self._total, self._width = total, width
        self._stream = stream or sys.stdout
        notebook = type(self._stream).__module__.startswith("ipykernel")
        self._terminal = notebook or bool(getattr(self._stream, "isatty", lambda: False)())
        self._every_line = every_line
        self._start = time.perf_counter()
        self._length = 0

    def update(self, step, values=(), last=False):
        """Shows that `step` steps are done; values are (name, number) pairs. `last`: there are no more, whatever the total."""
        elapsed = time.perf_counter() - self._start
        line = self._line(step, values, elapsed)
        last = last or self._total is not None and step >= self._total
        if self._terminal and not self._every_line:
            line = line[: _columns(self._stream) - 1]
            padding = " " * max(self._length - len(line), 0)
            self._stream.write(f"\r{line}{padding}" + ("\n" if last else ""))
            self._length = 0 if last else len(line)
        elif last or self._every_line:
            self._stream.write(line + "\n")
        self._stream.flush()

    def close(self):
        """Ends the line of a loop that stopped before its end."""
        if self._terminal and self._length and not self._every_line:
            self._stream.write("\n")
            self._length = 0

    def _line(self, step, values, elapsed):
        each = elapsed / max(step, 1)
        if self._every_line:
            head, left = f"step {step}/{self._total}" if self._total else f"step {step}", ""
        elif self._total:
            digits = len(str(self._total))
            done = min(step * self._width // self._total, self._width)
            arrow = ">" if 0 < done < self._width else ""
            bar = "=" * (done - len(arrow)) + arrow + "." * (self._width - done)
            head = f"step {step:{digits}d}/{self._total} [{bar}]"
            left = f" - ETA {_span(each * (self._total - step))}" if step < self._total else ""
        else:
            head, left = f"step {step}", ""
        text = "".join(f" - {name}: {_number(value)}" for name, value in values)
        return f"{head}{text} - {_span(each)}/step{left}"


def _columns(stream):
    """Characters of a line of the terminal; very many where nobody knows, or the terminal says 0."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or sys.maxsize
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def _number(value):
    if getattr(value, "dtype", None) == "uint16":  # a bfloat16, as the reference's arrays have it
        value = (value.astype("uint32") << 16).view("float32")
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return " ".join(_number(v) for v in value)
    if isinstance(value, (int, str)):
        return str(value)
    value = float(value)
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.4e}"


def _span(seconds):
    if seconds >= 60:
        return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
    if seconds >= 1:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"
