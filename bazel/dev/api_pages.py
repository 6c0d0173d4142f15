"""Pages about the public names of the package, one a module, made from docstrings."""

import importlib
import inspect
import re

# The modules that have a page, in the order in which readers meet them.
MODULES = (
    "", "nn", "nn.functional", "nn.initializer", "nn.utils", "optimizer", "optimizer.lr", "regularizer", "io", "metric", "amp",
    "amp.debugging", "autograd", "jit", "static", "static.nn", "static.amp", "vision", "vision.models", "vision.transforms",
    "vision.datasets", "vision.ops", "text", "distribution", "geometric", "linalg", "fft", "signal", "sparse", "sparse.nn", "sparse.nn.functional", "array_api", "array_api.linalg",
    "array_api.fft", "callbacks", "hub", "hugging_face", "inference", "onnx", "profiler",
    "device", "device.cuda", "distributed", "distributed.fleet", "distributed.fleet.metrics", "incubate.autograd", "incubate.autotune",
    "incubate.optimizer", "incubate.optimizer.functional", "convert", "doctor", "upgrade", "reader", "sysconfig", "utils",
    "utils.dlpack", "utils.download", "utils.unique_name", "version",
)  # fmt: skip

_SECTION = re.compile(r"^(Args|Attributes|Examples?|Note|Raises|References|Returns|Shape|Yields):$")
_ITEM = re.compile(r"^(\*{0,2}[\w.*, ]+?)(?: \(([^)]*(?:\([^)]*\)[^)]*)*)\))?: ?(.*)$")


def module_of(name):
    """The module proa.<name>."""
    return importlib.import_module(f"proa.{name}" if name else "proa")


def public_names(name):
    """The public functions, classes and values of a module, sorted, without modules."""
    module = module_of(name)
    listed = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {}
    for attribute in sorted(set(listed), key=lambda n: (n.lower(), n)):
        value = getattr(module, attribute)
        if not inspect.ismodule(value) and not attribute.startswith("_"):
            found[attribute] = value
    return found


def _blocks(doc):
    """[(section or None, lines)] of a docstring."""
    blocks = [(None, [])]
    for line in doc.splitlines():
        section = _SECTION.match(line)
        if section:
            blocks.append((section[1], []))
        else:
            blocks[-1][1].append(line)
    return blocks


def _escaped(text):
    """Text outside of code marks with what Markdown would take for emphasis or HTML made plain."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*_\[\]<>|\\])", r"\\\1", parts[i])
    return "`".join(parts)


def _dedented(lines):
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return inspect.cleandoc("\n".join(["", *lines])).splitlines()


def _items(lines):
    """Lines `name (type): text`, continued by indented ones, as a list."""
    out = []
    for line in _dedented(lines):
        item = _ITEM.match(line)
        if item and not line.startswith(" "):
            kind = f" (*{_escaped(item[2])}*)" if item[2] else ""
            out.append(f"- **{_escaped(item[1])}**{kind}: {_escaped(item[3])}")
        elif line.strip():
            out.append(f"    {_escaped(line.strip())}")
    return out


def rendered(doc):
    """A docstring as Markdown lines."""
    out = []
    for section, lines in _blocks(doc):
        if section is None:
            out += [_escaped(line) if not line.startswith("    ") else line for line in lines]
            continue
        out += ["", f"**{section}**", ""]
        if section.startswith("Example"):
            out += ["```python", *_dedented(lines), "```"]
        elif section in ("Args", "Attributes", "Raises"):
            out += _items(lines)
        else:
            out += [_escaped(line) for line in _dedented(lines)]
    return out


def _signature(value):
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _methods(value):
    """Documented public methods and properties of a class that are its own or of a class of the package."""
    for name, member in inspect.getmembers(value):
        plain = inspect.isfunction(member) or inspect.ismethod(member) or inspect.ismethoddescriptor(member)
        if name.startswith("_") or not (plain or isinstance(member, property)):
            continue
        home = next((c for c in value.__mro__ if name in vars(c)), None)
        if home is None or not home.__module__.startswith("proa") or not inspect.getdoc(member):
            continue
        if home is value or not home.__name__ == "Layer":
            yield name, member


def section(prefix, name, value):
    """The Markdown lines about one name."""
    full = f"{prefix}.{name}"
    kind = "class " if inspect.isclass(value) else ""
    lines = [
        f"## {name} {{ #{full} }}",
        "",
        "```python",
        f"{kind}{full}{_signature(value) if callable(value) else ''}",
        "```",
        "",
    ]
    if not callable(value):
        return [*lines, f"`{type(value).__name__}`: {_escaped(repr(value)[:80])}", ""]
    lines += [*rendered(inspect.getdoc(value) or ""), ""]
    if inspect.isclass(value):
        for method, member in _methods(value):
            called = "" if isinstance(member, property) else _signature(member)
            lines += [f"### {name}.{method} {{ #{full}.{method} }}", "", "```python", f"{method}{called}", "```", ""]
            lines += [*rendered(inspect.getdoc(member)), ""]
    return lines


def page(name):
    """The Markdown of a module's page."""
    module = module_of(name)
    full = f"proa.{name}" if name else "proa"
    names = public_names(name)
    lines = [f"# {full}", "", *rendered(inspect.getdoc(module)), ""]
    lines += ["| name | |", "|---|---|"]
    for attribute, value in names.items():
        first = (inspect.getdoc(value) or "").splitlines()[0] if callable(value) and inspect.getdoc(value) else ""
        lines.append(f"| [{_escaped(attribute)}](#{full}.{attribute}) | {_escaped(first)} |")
    lines.append("")
    for attribute, value in names.items():
        lines += section(full, attribute, value)
    return "\n".join(lines) + "\n"


def pages():
    """{file name: Markdown} of all modules."""
    return {f"{name.replace('.', '_') or 'root'}.md": page(name) for name in MODULES}


def names_without_example():
    """Public functions and classes whose docstring shows no use."""
    for module in MODULES:
        for name, value in public_names(module).items():
            if callable(value) and ">>>" not in (inspect.getdoc(value) or ""):
                yield f"proa.{module}.{name}" if module else f"proa.{name}"
