"""ProgressBar: on terminals of several widths, in notebooks and in files."""

import fcntl
import io
import os
import pty
import struct
import sys
import termios

import numpy as np
import pytest

from proa.hapi.progress import ProgressBar


def shown_on_a_terminal(columns, total=4, steps=4):
    """What a terminal of this many columns gets."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(follower, "w") as stream:
        bar = ProgressBar(total, stream=stream)
        for step in range(1, steps + 1):
            bar.update(step, [("loss", 0.5), ("accuracy", 0.25)])
        bar.close()
    with os.fdopen(leader, "rb", 0) as screen:
        return b"".join(_pieces(screen)).decode()


def _pieces(screen):
    try:
        while piece := screen.read(1 << 16):
            yield piece
    except OSError:  # Linux says so where nobody writes any more
        return


@pytest.mark.parametrize("columns", [0, 1, 2, 10, 40, 200])
def test_terminals(columns):
    text = shown_on_a_terminal(columns)
    assert text.endswith("\r\n") and text.count("\n") == 1
    lines = text.removesuffix("\r\n").split("\r")[1:]
    assert len(lines) == 4
    if columns:
        assert all(len(line) <= columns - 1 for line in lines)
    if columns in (0, 200):
        assert "step 4/4 [==============================] - loss: 0.5000 - accuracy: 0.2500" in lines[-1]


def test_a_loop_that_stops_ends_its_line():
    assert shown_on_a_terminal(80, total=9).endswith("\r\n")
    assert shown_on_a_terminal(80, total=None).endswith("\r\n")


def test_files_and_notebooks():
    file = io.StringIO()
    bar = ProgressBar(3, stream=file)
    for step in (1, 2, 3):
        bar.update(step)
    assert file.getvalue().startswith("step 3/3 [===") and file.getvalue().count("\n") == 1
    outstream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    bar = ProgressBar(3, stream=outstream)
    for step in (1, 2, 3):
        bar.update(step)
    assert outstream.getvalue().count("\r") == 3


def test_values():
    file = io.StringIO()
    values = [
        ("n", 3),
        ("list", [0.5, 2]),
        ("array", np.array([0.25])),
        ("bf16", np.array([0x3F80], "uint16")),
        ("nan", np.nan),
    ]
    ProgressBar(1, stream=file).update(1, values)
    assert " - n: 3 - list: 0.5000 2 - array: 0.2500 - bf16: 1.0000 - nan: nan - " in file.getvalue()
    assert sys.stdout is not file
