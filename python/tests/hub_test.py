"""Models from folders with a hubconf.py."""

import sys
import textwrap

import pytest

import proa


def folder(tmp_path, text, **others):
    (tmp_path / "hubconf.py").write_text(textwrap.dedent(text))
    for name, content in others.items():
        (tmp_path / f"{name}.py").write_text(content)
    return str(tmp_path)


def test_local(tmp_path):
    place = folder(
        tmp_path,
        """
        import proa
        import beside_hubconf
        dependencies = ["numpy", "json"]
        constant = 3
        def net(size=2, out=1):
            "A net."
            return proa.nn.Linear(size, out * beside_hubconf.factor)
        def _hidden():
            pass
        """,
        beside_hubconf="factor = 5",
    )
    before = list(sys.path)
    assert proa.hub.list(place, source="local") == ["net"]
    assert proa.hub.help(place, "net", source="local") == "A net."
    assert proa.hub.load(place, "net", source="local", size=4, out=2).weight.shape == [4, 10]
    assert sys.path == before and "hubconf" not in sys.modules
    folder(tmp_path, "def other():\n    return 1\n")
    assert proa.hub.list(place, source="local") == ["other"]  # read anew


def test_errors(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    place = folder(tmp_path, "dependencies = ['no_such_module_here']\ndef net():\n    return 1\n")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "hubconf.py").write_text("import no_such_module_here\n")
    for call, kind, says in (
        (lambda: proa.hub.list("owner/name"), NotImplementedError, "nothing is fetched from github.*source='local'"),
        (lambda: proa.hub.load("owner/name", "net", "gitee"), NotImplementedError, "nothing is fetched from gitee"),
        (
            lambda: proa.hub.list(place, source="ftp"),
            ValueError,
            "source must be 'github', 'gitee' or 'local', not 'ftp'",
        ),
        (lambda: proa.hub.list(str(empty), "local"), FileNotFoundError, "there is no hubconf.py in .*empty"),
        (lambda: proa.hub.load(place, "net", "local"), RuntimeError, "not installed: no_such_module_here"),
        (lambda: proa.hub.load(place, "other", "local"), RuntimeError, "no function 'other'; it has: net"),
        (lambda: proa.hub.help(place, 3, "local"), TypeError, "the name of a function, not int"),
        (lambda: proa.hub.list(str(broken), "local"), ModuleNotFoundError, "no_such_module_here"),
    ):
        with pytest.raises(kind, match=says):
            call()
