"""The names that public programs use are there: their share by files, and what is said of names that are not."""

import contextlib
import importlib
import pathlib

import pytest

import proa

_FILE = pathlib.Path(__file__).with_name("used_names.tsv")
_SHARE = 0.97


def _rows():
    for line in _FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            weight, name, *why = line.split("\t")
            yield int(weight), name, why[0] if why else None


def _find(name):
    """What `proa.<name>` is; modules are imported as programs import them."""
    value, path = proa, "proa"
    for part in name.split("."):
        path += f".{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(path)
    return value


def test_of_the_names_in_scope_nearly_all_are_there():
    total = found = 0
    missing = []
    for weight, name, why in _rows():
        if why is not None:
            continue
        total += weight
        try:
            _find(name)
        except ImportError:
            missing.append((weight, name))
        else:
            found += weight
    assert total > 30_000
    assert found / total >= _SHARE, (found / total, sorted(missing, reverse=True)[:40])


def test_what_has_a_reason_is_not_there():
    stale = []
    for _, name, why in _rows():
        if why is not None:
            with contextlib.suppress(ImportError):
                _find(name)
                stale.append(name)
    assert not stale, "these are there: take their reasons out of used_names.tsv"


def test_what_is_out_of_scope_is_little():
    every = sum(weight for weight, _, _ in _rows())
    out = sum(weight for weight, _, why in _rows() if why is not None)
    assert out / every < 0.03


@pytest.mark.parametrize("module", ["", "nn", "nn.functional", "tensor", "static", "static.nn", "fluid", "fluid.layers",
                                    "fluid.dygraph", "fluid.core", "distributed", "distributed.fleet", "vision",
                                    "vision.models", "vision.datasets", "vision.transforms", "io", "optimizer",
                                    "optimizer.lr", "metric", "amp", "jit", "utils", "framework", "framework.core", "text",
                                    "distribution", "inference", "device", "device.cuda", "incubate", "autograd",
                                    "linalg", "fft", "nn.initializer", "nn.layer", "reader", "dataset", "hapi"])  # fmt: skip
def test_a_name_that_is_not_there(module):
    there = _find(module) if module else proa
    full = f"proa.{module}" if module else "proa"
    assert not hasattr(there, "no_such_name") and "no_such_name" not in dir(there)
    with pytest.raises(AttributeError, match=f"module '{full}' has no attribute 'no_such_name'"):
        there.no_such_name  # noqa: B018
    for name in dir(there):  # what is listed is there
        getattr(there, name)


def test_every_public_module_is_found_by_its_parent():
    import pkgutil

    for info in pkgutil.iter_modules(proa.__path__, "proa."):
        name = info.name.rpartition(".")[2]
        if not name.startswith("_") and name != "as_paddle":
            assert getattr(proa, name) is importlib.import_module(info.name)
            assert name in dir(proa)


def test_vision_has_the_names_of_its_parts():
    from proa import vision

    for part in (vision.datasets, vision.models, vision.transforms):
        for name in part.__all__:
            assert getattr(vision, name) is not None
    from proa.vision import Compose, DatasetFolder, resnet18

    assert (Compose, DatasetFolder, resnet18) == (
        vision.transforms.Compose,
        vision.datasets.DatasetFolder,
        vision.models.resnet18,
    )
    assert not hasattr(vision, "nothing_of_this_name")
