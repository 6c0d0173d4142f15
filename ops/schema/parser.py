"""Parses schema files into the model. Every mistake is a SchemaError with file and line."""

from __future__ import annotations

import os
import re

from ops.schema import alias, commas, entries, flops, formula, model, param_types

_KEYS = frozenset(
    (
        "op",
        "doc",
        "infer",
        "kernel",
        "composite",
        "accepts",
        "row_sparse",
        "dtypes",
        "inplace",
        "mutates",
        "reuses",
        "grad",
        "takes_wider_grads",
        "recompute",
        "elements",
        "inference",
        "amp",
        "flops",
        "fuse",
        "random",
        "data_dependent",
        "of_bytes",
        "version",
        "python",
        "aliases",
        "samples",
        "errors",
    )
)
_PYTHON_KEYS = frozenset(("function", "method", "operator", "module", "params"))
_ERROR_KEYS = frozenset(("args", "says", "type"))
_AMP = ("keep", "lower", "raise", "promote")
_FUSE = ("none", "pointwise", "reduction", "matmul", "view", "broadcast")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def parse_file(path: str, text: str | None = None) -> list[model.Op]:
    """Parses one schema file; `path` is relative to the repository root."""
    return [_OpParser(path, entry).parse() for entry in entries.read(path, text)]


def parse_files(paths: list[str]) -> dict[str, model.Op]:
    """Parses all files into an index by name; a name defined twice is a mistake."""
    index: dict[str, model.Op] = {}
    for path in sorted(paths):
        for op in parse_file(path):
            if op.name in index:
                raise model.SchemaError(op.location, f"op {op.name} is already defined at {index[op.name].location}")
            index[op.name] = op
    _check_aliases(index)
    return index


def _check_aliases(index: dict[str, model.Op]) -> None:
    """An alias is one name of one op; the name of an op it may be only for that op's own call."""
    seen: dict[str, model.Op] = {}
    for op in index.values():
        for a in op.aliases:
            other = seen.setdefault(a.name, op) if a.name not in index else index[a.name]
            if other is not op or (a.name == op.name and a.formula is None):
                raise model.SchemaError(a.location, f"{op.name}: alias {a.name} already names op {other.name}")
            alias.check(op, a, index)


class _OpParser:
    """Parses one entry."""

    def __init__(self, path: str, entry):
        self._path = path
        if not isinstance(entry, entries.Line):
            raise model.SchemaError(model.Location(path, 1), f"an entry is a mapping, not {entry!r}")
        self._entry = entry

    def _at(self, key: str | None = None) -> model.Location:
        return model.Location(self._path, self._entry.key_lines.get(key, self._entry.line))

    def _fail(self, message: str, key: str | None = None):
        raise model.SchemaError(self._at(key), message)

    def parse(self) -> model.Op:
        e = self._entry
        for key in e:
            if key not in _KEYS:
                self._fail(f"unknown key {key!r}; the keys are {', '.join(sorted(_KEYS))}", key)
        for key in ("op", "doc"):
            if key not in e:
                self._fail(f"key {key!r} is missing")
        self._parse_signature(str(e["op"]))
        kernel, composite = self._kernel(self._kernels().get("cpu")), self._composite()
        if (kernel is None) == (composite is None):
            self._fail(f"{self._name}: give either `kernel` or `composite`")
        infer, compute = self._infer(composite is not None)
        accepts = self._choice("accepts", ("strided", "channels_last"), "")
        family = os.path.basename(os.path.dirname(self._path))
        stem = os.path.splitext(os.path.basename(self._path))[0]
        mutates = self._mutates()
        grad = self._grad(composite is not None)
        rows_form, rows_params = self._row_sparse(kernel is not None)
        samples = self._samples(mutates)
        return model.Op(
            name=self._name,
            params=self._params,
            outputs=self._outputs,
            signature=" ".join(str(e["op"]).split()),
            doc=str(e["doc"]).strip(),
            location=self._at("op"),
            family=family,
            stem=stem,
            infer=infer,
            compute=compute,
            kernel=kernel,
            device_kernels=self._device_kernels(),
            composite=composite,
            strided=accepts == "strided" or bool(kernel and kernel.elementwise),
            channels_last=accepts == "channels_last",
            dtypes=self._dtypes(),
            inplace=self._inplace(),
            mutates=mutates,
            reuses=self._reuses(),
            rows_form=rows_form,
            rows_params=rows_params,
            grad=grad,
            takes_wider_grads=self._takes_wider_grads(grad),
            recompute=self._recompute(grad),
            recompute_behind=isinstance(e.get("recompute"), dict),
            elements=formula.parse(e["elements"], self._at("elements")) if "elements" in e else None,
            inference=self._inference(composite is not None),
            amp=self._choice("amp", _AMP, "keep"),
            fuse=self._choice("fuse", _FUSE, "none"),
            flops=self._flops(),
            random=self._flag("random"),
            data_dependent=self._flag("data_dependent"),
            of_bytes=self._of_bytes(grad),
            version=int(e.get("version", 1)),
            python=self._python(),
            aliases=self._aliases(),
            samples=samples,
            errors=self._errors(),
        )

    def _samples(self, mutates) -> tuple[str, ...]:
        samples = self._entry.get("samples")
        if samples == "none" and self._entry.get("errors"):
            return ()  # one process cannot call it
        if samples == "none" or not (samples or mutates):
            self._fail(f"{self._name}: key `samples` is missing")
        return tuple(str(s) for s in samples or ())

    # Signature -----------------------------------------------------------------

    def _parse_signature(self, text: str) -> None:
        text = " ".join(text.split())
        m = re.fullmatch(rf"({_NAME})\((.*)\)(?: -> (.+))?", text)
        if not m:
            self._fail(f"signature {text!r} is not `name(Type x, ...) -> Type out`", "op")
        self._name = m[1]
        self._params = tuple(self._param(p) for p in commas.split(m[2]))
        names = [p.name for p in self._params]
        self._outputs = tuple(self._output(o, names) for o in commas.split(m[3] or ""))
        names += [o.name for o in self._outputs]
        for n in names:
            if names.count(n) > 1:
                self._fail(f"{self._name}: name {n!r} is used twice", "op")
        required = [p.default is None for p in self._params]
        if required != sorted(required, reverse=True):
            self._fail(f"{self._name}: a required parameter follows one with a default", "op")

    def _param(self, text: str) -> model.Param:
        m = re.fullmatch(rf"([A-Za-z]+(?:\[\])?)(\?)? ({_NAME})(?: ?= ?(.+))?", text.strip())
        if not m or m[1] not in param_types.PARAM_TYPES:
            self._fail(
                f"{self._name}: parameter {text.strip()!r}; types are {', '.join(param_types.PARAM_TYPES)}", "op"
            )
        kind = param_types.PARAM_TYPES[m[1]]
        if m[2] and not kind.cpp_optional:
            self._fail(f"{self._name}: {kind.name} has no optional form", "op")
        if m[4] == "none" and not m[2] and not kind.name.endswith("[]"):
            self._fail(f"{self._name}: {m[3]} defaults to none but is not optional", "op")
        return model.Param(m[3], kind, bool(m[2]), m[4])

    def _output(self, text: str, params: list[str]) -> model.Output:
        m = re.fullmatch(rf"Tensor(?:\(({_NAME})\))?(\[\])? ({_NAME})", text.strip())
        if not m:
            self._fail(
                f"{self._name}: output {text.strip()!r} is not `Tensor out`, `Tensor(x) out` or `Tensor[] out`", "op"
            )
        if m[1] and m[1] not in params:
            self._fail(f"{self._name}: output {m[3]} is a view of {m[1]!r}, which is no parameter", "op")
        return model.Output(m[3], bool(m[2]), m[1])

    # Kernel --------------------------------------------------------------------

    def _kernels(self) -> dict:
        """`kernel` by backend; without one it is the CPU's."""
        k = self._entry.get("kernel")
        if k == model.ELEMENTWISE:
            return dict.fromkeys(["cpu", *model.FORMULA_BACKENDS], k)
        if not isinstance(k, entries.Line) or "function" in k:
            return {} if k is None else {"cpu": k}
        unknown = sorted(set(k) - {"cpu", *model.BACKENDS})
        if unknown:
            backends = ", ".join(["cpu", *model.BACKENDS])
            self._fail(f"`kernel` has the key {unknown[0]!r}; a map has backends ({backends}), or function", "kernel")
        if "cpu" not in k:
            self._fail(f"{self._name}: `kernel` has none for cpu, which every op runs on", "kernel")
        return k

    def _device_kernels(self) -> tuple[model.DeviceKernel, ...]:
        out = []
        for backend, k in self._kernels().items():
            if backend == "cpu":
                continue
            function, dtypes = k, self._dtypes()
            if isinstance(k, dict):
                if set(k) - {"function", "dtypes"} or "function" not in k:
                    self._fail(f"`kernel` of {backend} as a map has the keys function and dtypes", "kernel")
                function, dtypes = k["function"], self._dtypes(k.get("dtypes", "all"), "kernel")
            if function == model.ELEMENTWISE and backend in model.FORMULA_BACKENDS:
                dtypes = tuple(d for d in dtypes if d not in model.FORMULA_BACKENDS[backend])
                if dtypes:
                    out.append(model.DeviceKernel(backend, function, dtypes))
                continue
            if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", str(function)):
                self._fail(f"kernel {function!r} of {backend} is no CamelCase function", "kernel")
            out.append(model.DeviceKernel(backend, str(function), dtypes))
        return tuple(out)

    def _kernel(self, k) -> model.Kernel | None:
        if k is None:
            return None
        simd = False
        if isinstance(k, dict):
            if set(k) - {"function", "simd"} or "function" not in k:
                self._fail("`kernel` as a map has the keys function and simd", "kernel")
            simd, k = bool(k.get("simd", False)), k["function"]
        if k == model.ELEMENTWISE:
            return model.Kernel("", True, True)
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", str(k)):
            self._fail(f"kernel {k!r} is neither `elementwise` nor a CamelCase function", "kernel")
        return model.Kernel(str(k), simd, False)

    def _composite(self):
        c = self._entry.get("composite")
        if c is None:
            return None
        if re.fullmatch(r"[A-Z][A-Za-z0-9]*", str(c)):
            return str(c)
        return formula.parse(c, self._at("composite"))

    def _infer(self, is_composite: bool):
        i = self._entry.get("infer")
        if i is None:
            if not is_composite and self._outputs:
                self._fail(f"{self._name}: key `infer` is missing")
            return {}, None
        if not isinstance(i, entries.Line):
            self._fail("`infer` is a map", "infer")
        at = self._at("infer")
        compute = formula.parse(i.pop("compute"), at) if "compute" in i else None
        if set(i) - {"order"} == {"shape", "dtype"}:
            rules = {o.name: i for o in self._outputs}
        else:
            rules = i
        names = {o.name for o in self._outputs}
        if set(rules) != names:
            self._fail(f"`infer` needs shape and dtype, or one entry for each of {sorted(names)}", "infer")
        out = {}
        for name, r in rules.items():
            if not isinstance(r, dict) or set(r) - {"order"} != {"shape", "dtype"}:
                self._fail(f"`infer` of {name} needs the keys shape and dtype, and may have order", "infer")
            order = formula.parse(r["order"], at) if "order" in r else None
            out[name] = model.InferRule(formula.parse(r["shape"], at), formula.parse(r["dtype"], at), order)
        if compute is None:
            first = out[self._outputs[0].name].dtype
            import ast

            if isinstance(first.tree, ast.Call) and first.tree.func.id.startswith("promote"):
                compute = first
        return out, compute

    def _flops(self) -> model.Formula | None:
        text = self._entry.get("flops")
        if text is None:
            return None
        if self._entry.get("composite") is not None:
            self._fail(f"{self._name}: a composite costs what its parts cost", "flops")
        f = formula.parse(text, self._at("flops"))
        flops.compile_formula(f, self._params, self._outputs)
        return f

    def _dtypes(self, d=None, key: str = "dtypes") -> tuple[str, ...]:
        if d is None:
            d = self._entry.get("dtypes", "all")
        if isinstance(d, str) and d in param_types.DTYPE_SETS:
            return param_types.DTYPE_SETS[d]
        if isinstance(d, list) and all(t in param_types.DTYPES for t in d):
            return tuple(t for t in param_types.DTYPES if t in d)
        self._fail(f"dtypes {d!r}; give one of {', '.join(param_types.DTYPE_SETS)} or a list of dtypes", key)

    # Aliasing ------------------------------------------------------------------

    def _reuses(self) -> str | None:
        name = self._entry.get("reuses")
        if name is None:
            return None
        if len(self._outputs) != 1 or self._outputs[0].is_list or "kernel" not in self._entry:
            self._fail(f"{self._name}: `reuses` is for kernels of one result", "reuses")
        if not any(p.is_tensor and p.name == name for p in self._params):
            self._fail(f"{self._name}: `reuses` names a tensor parameter, not {name!r}", "reuses")
        return str(name)

    def _inplace(self) -> str | None:
        text = self._entry.get("inplace")
        if text is None:
            return None
        m = re.fullmatch(rf"({_NAME}) -> ({_NAME})", str(text))
        if (
            not m
            or not self._params
            or m[1] != self._params[0].name
            or len(self._outputs) != 1
            or m[2] != self._outputs[0].name
        ):
            self._fail(f"{self._name}: `inplace` maps the first parameter to the only output, `x -> out`", "inplace")
        return m[1]

    def _mutates(self) -> tuple[str, ...]:
        names = self._entry.get("mutates") or []
        params = {p.name for p in self._params if p.type.is_tensor}
        if not isinstance(names, list) or set(names) - params:
            self._fail(f"{self._name}: `mutates` lists tensor parameters", "mutates")
        return tuple(names)

    def _row_sparse(self, has_kernel: bool) -> tuple[str | None, tuple[str, ...]]:
        """The form of the op for row-sparse tensors, and the parameters in which its kernel takes them."""
        value = self._entry.get("row_sparse")
        if value is None:
            return None, ()
        if not has_kernel:
            self._fail(f"{self._name}: a composite has no `row_sparse`; its parts may", "row_sparse")
        if isinstance(value, list):
            if not value or set(value) - {p.name for p in self._params if p.type.is_tensor}:
                self._fail(f"{self._name}: `row_sparse` lists tensor parameters", "row_sparse")
            return None, tuple(value)
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", str(value)):
            self._fail(f"{self._name}: `row_sparse` is a list of parameters or a CamelCase function", "row_sparse")
        if len(self._outputs) != 1 or self._outputs[0].is_list or any(p.type.name == "Tensor[]" for p in self._params):
            self._fail(f"{self._name}: a `row_sparse` function needs tensors, and one as output", "row_sparse")
        return str(value), ()

    # Gradient ------------------------------------------------------------------

    def _grad(self, is_composite: bool):
        e = self._entry
        if is_composite:
            if "grad" in e:
                self._fail(f"{self._name}: a composite has no gradient of its own", "grad")
            return None
        if "grad" not in e:
            self._fail(f"{self._name}: key `grad` is missing; write `grad: none` if there is none")
        g = e["grad"]
        if g == "none":
            return None
        if not isinstance(g, entries.Line):
            self._fail(f"{self._name}: `grad` is `none` or a map", "grad")
        inputs = {p.name for p in self._params if p.type.is_tensor}
        if set(g) != inputs:
            missing, extra = sorted(inputs - set(g)), sorted(set(g) - inputs)
            self._fail(f"{self._name}: `grad` has no word on {missing} and knows no input {extra}", "grad")
        out = {}
        for name, text in g.items():
            where = model.Location(self._path, g.key_lines[name])
            out[name] = None if text == "none" else formula.parse(text, where)
        return out if any(f is not None for f in out.values()) else None

    def _takes_wider_grads(self, grad: dict[str, model.Formula | None] | None) -> bool:
        takes = self._flag("takes_wider_grads")
        if takes and (grad is None or sum(p.type.is_tensor for p in self._params) != 1 or len(self._outputs) != 1):
            self._fail(
                f"{self._name}: `takes_wider_grads` is for ops of one tensor and one result", "takes_wider_grads"
            )
        return takes

    def _of_bytes(self, grad: dict[str, model.Formula | None] | None) -> bool:
        given = self._flag("of_bytes")
        if given and grad is not None:
            self._fail(f"{self._name}: bytes have no gradient; `of_bytes` is for ops with `grad: none`", "of_bytes")
        return given

    def _recompute(self, grad: dict[str, model.Formula | None] | None) -> model.Formula | None:
        text = self._entry.get("recompute")
        if text is None:
            return None
        if grad is None:
            self._fail(f"{self._name}: `recompute` is for backward; there is no gradient", "recompute")
        if self._outputs[0].is_list or self._outputs[0].aliases:
            self._fail(f"{self._name}: `recompute` gives a first output that is one new tensor", "recompute")
        if isinstance(text, dict):
            every = len(grad) == len(self._params) and None not in grad.values()
            if set(text) != {"behind_recomputed"} or len(self._outputs) > 1 or not every:
                self._fail(
                    f"{self._name}: `recompute` is a formula, or `{{behind_recomputed: formula}}` of an op that takes "
                    "and gives tensors with gradients alone",
                    "recompute",
                )
            text = text["behind_recomputed"]
        elif self._entry.get("inplace"):
            self._fail(f"{self._name}: `recompute` gives a first output that is one new tensor", "recompute")
        return formula.parse(str(text), self._at("recompute"))

    # The rest ------------------------------------------------------------------

    def _choice(self, key: str, values: tuple[str, ...], default: str) -> str:
        v = self._entry.get(key, default)
        if v != default and v not in values:
            self._fail(f"{self._name}: {key} is {v!r}; it is one of {', '.join(values)}", key)
        return v

    def _inference(self, is_composite: bool) -> dict[str, model.Formula]:
        """What the call becomes in a test: values of attributes, or formulas of outputs; {} if it stays as it is."""
        e = self._entry
        if is_composite:
            if "inference" in e:
                self._fail(f"{self._name}: a composite has no `inference` of its own; its parts have", "inference")
            return {}
        if "inference" not in e:
            of_training = [p.name for p in self._params if p.name == "training" or p.name.startswith("running_")]
            if e.get("random") or of_training:
                what = "draws random numbers" if e.get("random") else f"has the parameter {of_training[0]}"
                self._fail(f"{self._name}: it {what}; say by `inference` what it does in a test, or `inference: none`")
            return {}
        i = e["inference"]
        if i == "none":
            return {}
        attributes = {p.name for p in self._params if not p.type.is_tensor}
        if (
            not isinstance(i, entries.Line)
            or not i
            or not (set(i) <= attributes or set(i) <= {o.name for o in self._outputs})
        ):
            self._fail(f"{self._name}: `inference` is `none`, or a map of attributes or of outputs", "inference")
        for name, value in i.items():
            if isinstance(value, bool):
                i[name] = "true" if value else "false"
        return {n: formula.parse(text, model.Location(self._path, i.key_lines[n])) for n, text in i.items()}

    def _flag(self, key: str) -> bool:
        v = self._entry.get(key, False)
        if not isinstance(v, bool):
            self._fail(f"{self._name}: {key} is true or false", key)
        return v

    def _python(self) -> model.PythonApi | None:
        p = self._entry.get("python")
        if p is None:
            return None
        if not isinstance(p, entries.Line) or set(p) - _PYTHON_KEYS:
            self._fail(f"{self._name}: `python` has the keys {', '.join(sorted(_PYTHON_KEYS))}", "python")
        return model.PythonApi(
            p.get("function"),
            p.get("method"),
            p.get("operator"),
            str(p.get("module", "root")).replace(".", "_"),
            dict(p.get("params") or {}),
        )

    def _aliases(self) -> tuple[model.Alias, ...]:
        calls = self._entry.get("aliases") or entries.Line()
        if not isinstance(calls, entries.Line):
            self._fail(f"{self._name}: `aliases` is a map from the reference's call to a formula", "aliases")
        at = lambda text: model.Location(self._path, calls.key_lines[text])
        return tuple(alias.parse(text, value, at(text)) for text, value in calls.items())

    def _errors(self) -> tuple[model.ErrorSample, ...]:
        out = []
        for e in self._entry.get("errors") or ():
            if not isinstance(e, entries.Line) or set(e) - _ERROR_KEYS or not {"args", "says"} <= set(e):
                self._fail(f"{self._name}: an error sample has the keys args, says and type", "errors")
            out.append(model.ErrorSample(str(e["args"]), str(e["says"]), str(e.get("type", "ValueError"))))
        return tuple(out)
