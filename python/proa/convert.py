"""Checkpoints from one format to another: `python -m proa.convert model.pt model.safetensors`.

Read: what `proa.load` reads: safetensors (also of several files), PaddlePaddle's .pdparams and .pdopt, PyTorch's .pt and
.pth, NumPy's .npz and .npy. Written, by the ending of the name: .safetensors, .npz (dicts of tensors, nested ones with
dotted names) and .pdparams and .pdopt as `proa.save` writes them (any value).

    $ python -m proa.convert resnet.pth resnet.pdparams --rename 'running_mean=_mean' --rename 'running_var=_variance' \\
          --transpose 'fc.weight'
"""

import argparse
import fnmatch
import io
import re
import sys

import numpy as np

from proa import _C
from proa.framework import container, serialization

__all__ = ["convert", "main"]

_WRITTEN = (".safetensors", ".npz", ".pdparams", ".pdopt")


def convert(source, target, rename=(), transpose=(), take=None, drop=()):
    """Reads a checkpoint and writes it in another format.

    Args:
        source (str): a file that `proa.load` reads.
        target (str): what to write; the ending says in which format: .safetensors, .npz, or .pdparams and .pdopt for that
            of `proa.save`.
        rename (list[tuple[str, str]]): (pattern, replacement): regular expressions that are replaced in names, one after
            another.
        transpose (list[str]): patterns (`*.fc?.weight`) of names, as they are in the source, whose last two dims change
            places: PyTorch keeps the weights of linear layers as [out, in], Proa as [in, out].
        take (str, optional): take the part of that name (`model.state_dict`, dots between keys) of a nested checkpoint.
        drop (list[str]): patterns of names to leave out.

    Returns:
        list[str]: the names of the tensors that were written.

    Raises:
        ValueError: the target's ending is of no format that is written, the source is no checkpoint, or patterns that fit nothing, or two tensors of one name.
        OSError: a file cannot be read or written.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> proa.save(proa.nn.Linear(2, 3).state_dict(), os.path.join(folder, "a.pdparams"))
        >>> target = os.path.join(folder, "a.npz")
        >>> proa.convert.convert(os.path.join(folder, "a.pdparams"), target, transpose=["weight"])
        ['weight', 'bias']
        >>> np.load(target)["weight"].shape
        (3, 2)
    """
    if not target.endswith(_WRITTEN):
        raise _C.located(
            ValueError(f"convert: the ending of {target!r} is of no format that is written: {', '.join(_WRITTEN)}")
        )
    with _C.eager_mode():
        value = serialization.load(source)
        for key in take.split(".") if take else ():
            if not isinstance(value, dict) or key not in value:
                has = ", ".join(map(str, list(value)[:8])) if isinstance(value, dict) else type(value).__name__
                raise _C.located(ValueError(f"convert: there is no {key!r} in {source}; there is {has}"))
            value = value[key]
        changed, names = _Change(rename, transpose, drop).of(value)
        _write(target, changed)
    return names


class _Change:
    """Other names, and dims that change places, for the tensors of a nested value."""

    def __init__(self, rename, transpose, drop):
        self._rename = [(re.compile(pattern), new) for pattern, new in rename]
        self._transpose, self._drop = list(transpose), list(drop)
        self._unused = [*self._transpose, *self._drop]
        self._names = []

    def of(self, value):
        """(the value, names of its tensors)."""
        changed = self._changed(value, "", "")
        if self._unused:
            raise _C.located(ValueError(f"convert: no name fits {', '.join(map(repr, self._unused))}"))
        return changed, self._names

    def _fits(self, name, patterns):
        fitting = [pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)]
        self._unused = [pattern for pattern in self._unused if pattern not in fitting]
        return bool(fitting)

    def _changed(self, value, name, new_name):
        if isinstance(value, dict):
            found = {}
            for key, item in value.items():
                inner = _joined(name, key)
                if self._fits(inner, self._drop):
                    continue
                new = self._renamed(key)
                if new in found:
                    raise _C.located(ValueError(f"convert: two are named {new!r}"))
                found[new] = self._changed(item, inner, _joined(new_name, new))
            return found
        if isinstance(value, (list, tuple)):
            return type(value)(
                self._changed(item, _joined(name, i), _joined(new_name, i)) for i, item in enumerate(value)
            )
        if not isinstance(value, (_C.Tensor, np.ndarray)):
            return value
        self._names.append(new_name)
        if self._fits(name, self._transpose):
            if len(value.shape) < 2:
                raise _C.located(ValueError(f"convert: {name} has less than two dims: {list(value.shape)}"))
            dims = list(range(len(value.shape)))
            value = _C.ops.transpose(_C.to_tensor(value), [*dims[:-2], dims[-1], dims[-2]])
        return value

    def _renamed(self, key):
        if isinstance(key, str):
            for pattern, new in self._rename:
                key = pattern.sub(new, key)
        return key


def _joined(name, key):
    return f"{name}.{key}" if name else str(key)


def _flat(value, target, name=""):
    """A nested dict of tensors as one with dotted names."""
    found = {}
    for key, item in value.items() if isinstance(value, dict) else [("", value)]:
        inner = _joined(name, key)
        if isinstance(item, dict):
            found.update(_flat(item, target, inner))
        elif isinstance(item, (_C.Tensor, np.ndarray)):
            found[inner or "value"] = item
        else:
            raise _C.located(
                ValueError(
                    f"convert: {target} can hold tensors only, and {inner or 'the value'} is a {type(item).__name__}; "
                    "take a part with --take, leave it out with --drop, or write a .pdparams"
                )
            )
    return found


def _write(target, value):
    if target.endswith(".safetensors"):
        serialization.save(_flat(value, target), target)
    elif target.endswith(".npz"):
        arrays = {}
        for name, tensor in _flat(value, target).items():
            arrays[name] = tensor.numpy() if isinstance(tensor, _C.Tensor) else tensor
        memory = io.BytesIO()
        np.savez(memory, **arrays)
        container.write_bytes(target, memory.getbuffer())
    else:
        serialization.save(value, target)


def main(arguments=None):
    """The program; returns its exit code.

    Examples:
        >>> import os, tempfile
        >>> from proa import convert
        >>> folder = tempfile.TemporaryDirectory()
        >>> source, target = (os.path.join(folder.name, name) for name in ("a.pdparams", "a.safetensors"))
        >>> proa.save({"fc.weight": proa.ones([2, 3])}, source)
        >>> convert.main([source, target, "--rename", "^fc=head", "--transpose", "fc.*"])
        /...a.safetensors: 1 tensors
        0
        >>> {name: tensor.shape for name, tensor in proa.load(target).items()}
        {'head.weight': [3, 2]}
        >>> folder.cleanup()
    """
    parser = argparse.ArgumentParser(
        prog="python -m proa.convert", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument(
        "--rename", action="append", default=[], metavar="PATTERN=NEW", help="regular expression in names"
    )
    parser.add_argument("--transpose", action="append", default=[], metavar="NAME", help="* and ? stand for anything")
    parser.add_argument("--take", metavar="KEY", help="only this part of a nested checkpoint; dots between keys")
    parser.add_argument("--drop", action="append", default=[], metavar="NAME", help="leave out what has this name")
    given = parser.parse_args(arguments)
    if any("=" not in item for item in given.rename):
        parser.error("--rename needs PATTERN=NEW")
    rename = [item.split("=", 1) for item in given.rename]
    try:
        names = convert(given.source, given.target, rename, given.transpose, given.take, given.drop)
    except re.error as error:
        print(f"--rename: {error.pattern!r} is no regular expression: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError, TypeError) as error:
        print(re.sub(r"^\(\w+\) ", "", str(error).splitlines()[0]), file=sys.stderr)
        return 1
    print(f"{given.target}: {len(names)} tensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
