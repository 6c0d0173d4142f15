"""What the fuzzer found before: each line of regressions.txt gives a result or an error that is for people.

Also without a sanitizer, where a line that was mended by a check still needs its error; under `--config=asan` a line that
reads past its memory ends the test.
"""

import os

import pytest

from fuzz import case as cases
from fuzz import judge, replay

_LINES = cases.read_lines(os.path.join(os.path.dirname(__file__), "regressions.txt"))


@pytest.fixture(scope="module", autouse=True)
def _bounded_memory():
    """As the fuzzer's workers run: absurd sizes are refused and not tried."""
    replay.prepare()


@pytest.mark.parametrize("line", _LINES)
def test_line(line):
    text, _, says = line.partition("  # ")
    outcome = judge.run(text)
    assert not outcome.found, outcome
    if says:
        with pytest.raises(Exception) as e:  # noqa: PT011, the text is compared
            eval(text, vars(replay))  # pylint: disable=eval-used
        assert says.strip() in str(e.value)
