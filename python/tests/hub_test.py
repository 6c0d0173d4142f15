"""Models from folders with a hubconf.py."""

import os
import sys
import textwrap
import zipfile

import pytest

import proa
from proa.utils import download


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


@pytest.fixture(name="hub")
def _hub(tmp_path, monkeypatch):
    """Writes the archive that a source gives for a branch; what is fetched goes into the folder cache."""
    monkeypatch.setattr(download, "_HOME", str(tmp_path / "cache"))
    address = (tmp_path / "{owner}" / "{name}" / "{branch}.zip").as_uri().replace("%7B", "{").replace("%7D", "}")
    monkeypatch.setattr(proa.hub, "_SOURCES", {"github": ("main", address), "gitee": ("master", address)})

    def write(at, **files):
        path = tmp_path / "someone" / "models" / f"{at}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as file:
            for name, text in files.items():
                file.writestr(f"models-{at.replace('/', '-')}/{name}.py", text)

    return write


def test_a_repository_is_fetched_once(hub, tmp_path, capsys):
    hub("main", hubconf="from made_beside import size\ndef net():\n    return size\n", made_beside="size = 3")
    assert proa.hub.load("someone/models", "net") == 3
    sys.modules.pop("made_beside")
    assert os.listdir(tmp_path / "cache" / "hub") == ["someone_models_main"] and capsys.readouterr().err == ""
    hub("main", hubconf="def other():\n    'Another.'\n")
    assert proa.hub.list("someone/models") == ["net"]
    assert "Using cache found in" in capsys.readouterr().err
    sys.modules.pop("made_beside")
    assert proa.hub.list("someone/models:main", force_reload=True) == ["other"]
    assert proa.hub.help("someone/models", "other") == "Another."
    (tmp_path / "someone" / "models" / "feature").mkdir()
    hub("feature/one", hubconf="def _third():\n    return 4\n")
    assert proa.hub.load("someone/models:feature/one", "_third", source="gitee") == 4
    assert sorted(os.listdir(tmp_path / "cache" / "hub")) == ["someone_models_feature_one", "someone_models_main"]


def test_a_repository_that_cannot_be_fetched(hub, tmp_path):
    with pytest.raises(RuntimeError, match="could not be fetched"):
        proa.hub.list("someone/models")
    hub("main", readme="")
    with pytest.raises(FileNotFoundError, match="there is no hubconf.py"):
        proa.hub.list("someone/models")
    (tmp_path / "someone" / "models" / "main.zip").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="'someone/models' is no archive"):
        proa.hub.list("someone/models", force_reload=True)
    assert os.listdir(tmp_path / "cache" / "hub") == ["someone_models_main"]  # what was there stays


def test_errors(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    place = folder(tmp_path, "dependencies = ['no_such_module_here']\ndef net():\n    return 1\n")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "hubconf.py").write_text("import no_such_module_here\n")
    for call, kind, says in (
        (lambda: proa.hub.list("name"), ValueError, "a repository of github is 'owner/name'"),
        (lambda: proa.hub.list("owner/name/more"), ValueError, "a repository of github is 'owner/name'"),
        (lambda: proa.hub.list("../name"), ValueError, "a repository of github is 'owner/name'"),
        (lambda: proa.hub.load("owner/name:a/../b", "net", "gitee"), ValueError, "a repository of gitee is"),
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
