"""Formulas: the small expression language of `infer`, `grad` and `composite`.

A formula is a Python expression restricted to calls, names, literals, lists, the
operators + - * /, comparisons, unary -, and `a if flag else b`. It is parsed here and compiled
to C++ by `Compiler`, which checks each call against the schema of the op it names.
Nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import dataclasses

from ops.schema import model

_OPERATORS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
_COMPARISONS = {
    ast.Gt: ("greater_than", ">"),
    ast.GtE: ("greater_equal", ">="),
    ast.Lt: ("less_than", "<"),
    ast.LtE: ("less_equal", "<="),
    ast.Eq: ("equal", "=="),
    ast.NotEq: ("not_equal", "!="),
}
_SCALAR_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_CONSTANTS = {"true": "true", "false": "false", "none": "std::nullopt"}


_FIRST = "std::get<0>("


def output_of(first: str, k: int) -> str:
    """C++ of output k of a call, from that of its first output."""
    return f"std::get<{k}>({first.removeprefix(_FIRST)}"


def call_of(output: str) -> str:
    """C++ of a call, from that of one of its outputs."""
    return output[output.index("(") + 1 : -1]


def parse(text: str, location: model.Location) -> model.Formula:
    """Parses the text of a formula. Raises SchemaError for anything outside the language."""
    try:
        tree = ast.parse(" ".join(str(text).split()), mode="eval").body
    except SyntaxError as e:
        raise model.SchemaError(location, f"formula {text!r}: {e.msg}") from e
    allowed = (
        (
            ast.Call,
            ast.Name,
            ast.Constant,
            ast.List,
            ast.BinOp,
            ast.UnaryOp,
            ast.USub,
            ast.IfExp,
            ast.keyword,
            ast.Load,
            ast.Not,
            ast.Compare,
            ast.BoolOp,
            ast.And,
            ast.Or,
            ast.Subscript,
        )
        + tuple(_OPERATORS)
        + tuple(_COMPARISONS)
    )
    for node in ast.walk(tree):
        if not isinstance(node, allowed):
            raise model.SchemaError(location, f"formula {text!r}: {type(node).__name__} is not part of the language")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise model.SchemaError(location, f"formula {text!r}: only calls of ops by name")
        if isinstance(node, ast.Subscript) and not (
            isinstance(node.value, ast.Call)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, int)
        ):
            raise model.SchemaError(location, f"formula {text!r}: only an output of a call is chosen by [number]")
    return model.Formula(str(text), tree, location)


@dataclasses.dataclass(frozen=True)
class Expr:
    """A piece of C++ and the schema type of its value ('Tensor', 'int', 'none', ...)."""

    code: str
    type: str


@dataclasses.dataclass
class Use:
    """What a formula needs of the call: bare tensors and metas of tensors."""

    bare: set[str] = dataclasses.field(default_factory=set)
    meta: set[tuple[str, ...]] = dataclasses.field(default_factory=set)
    attributes: set[str] = dataclasses.field(default_factory=set)
    ops: set[str] = dataclasses.field(default_factory=set)


# Meta functions: name -> (result type, C++ template over the tensor and more arguments).
META_FUNCTIONS = {
    "shape": ("IntArray", "ShapeOf({0})"),
    "dtype": ("DType", "{0}.dtype()"),
    "rank": ("int", "int64_t{{{0}.rank()}}"),
    "size": ("int", "SizeOf({0}, {1})"),
    "len": ("int", "static_cast<int64_t>({0}.size())"),
    "sizes": ("IntArray", "SizesOf({0}, {1})"),
    # Of the input whose gradient the formula is: in which dtype to give that (autograd/grad_dtype.h).
    "grad_dtype": ("DType", "{0}.dtype()"),
}


class Compiler:
    """Compiles formulas of one op to C++ expressions.

    Args:
      op: the op whose formula it is.
      index: all ops by name, to check calls.
      names: what each free name is in C++ (Expr), e.g. parameters, outputs and `g`.
      meta_of: gives the C++ expression that stands for a meta function of a tensor name;
        None to call the function on the tensor itself.
    """

    def __init__(self, op: model.Op, index: dict[str, model.Op], names: dict[str, Expr], meta_of=None):
        self._op = op
        self._index = index
        self._names = names
        self._meta_of = meta_of
        self.use = Use()
        self.types: dict[ast.expr, str] = {}  # of the expressions compiled

    def compile(self, formula: model.Formula) -> Expr:
        self._formula = formula
        return self._expr(formula.tree)

    def _fail(self, message: str):
        raise model.SchemaError(self._formula.location, f"{self._op.name}: formula {self._formula.text!r}: {message}")

    @property
    def names(self) -> dict[str, Expr]:
        return self._names

    def _expr(self, node: ast.expr) -> Expr:
        e = self._untyped(node)
        self.types[node] = e.type
        return e

    def _untyped(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.List):
            return self._list(node)
        if isinstance(node, ast.UnaryOp):
            x = self._expr(node.operand)
            if isinstance(node.op, ast.Not):
                if x.type != "bool":
                    self._fail(f"`not` takes a bool attribute, not {x.type}")
                return Expr(f"(!{x.code})", "bool")
            if x.type == "Tensor":
                return self._op_call("neg", [x], {})
            if x.type not in ("int", "float"):
                self._fail(f"no minus for {x.type}")
            return Expr(f"(-{x.code})", x.type)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.IfExp):
            test, yes, no = self._expr(node.test), self._expr(node.body), self._expr(node.orelse)
            if test.type != "bool":
                self._fail(f"condition has type {test.type}, not bool")
            if yes.type != no.type:
                self._fail(f"branches have types {yes.type} and {no.type}")
            return Expr(f"({test.code} ? {yes.code} : {no.code})", yes.type)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            parts = [self._expr(v) for v in node.values]
            if any(p.type != "bool" for p in parts):
                self._fail("`and` and `or` take bool attributes")
            return Expr(
                "(" + (" && " if isinstance(node.op, ast.And) else " || ").join(p.code for p in parts) + ")", "bool"
            )
        if isinstance(node, ast.Subscript):
            return self._output(node)
        assert isinstance(node, ast.Call)
        name = node.func.id
        if name in META_FUNCTIONS:
            return self._meta(name, node)
        args = [self._expr(a) for a in node.args]
        kwargs = {k.arg: self._expr(k.value) for k in node.keywords}
        return self._op_call(name, args, kwargs)

    def _constant(self, value) -> Expr:
        if isinstance(value, bool):
            return Expr("true" if value else "false", "bool")
        if isinstance(value, int):
            return Expr(f"int64_t{{{value}}}", "int")
        if isinstance(value, float):
            return Expr(repr(value), "float")
        if isinstance(value, str):
            return Expr('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"', "str")
        self._fail(f"literal {value!r} is not part of the language")

    def _name(self, name: str) -> Expr:
        if name in _CONSTANTS:
            return Expr(_CONSTANTS[name], "none" if name == "none" else "bool")
        if name in self._names:
            e = self._names[name]
            if e.type in ("Tensor", "Tensor[]"):
                self.use.bare.add(name)
            else:
                self.use.attributes.add(name)
            return e
        from ops.schema import param_types

        if name in param_types.DTYPE_CPP:
            return Expr(f"DType::{param_types.DTYPE_CPP[name][0]}", "DType")
        self._fail(f"unknown name {name!r}")

    def _list(self, node: ast.List) -> Expr:
        items = [self._expr(e) for e in node.elts]
        codes = ", ".join(i.code for i in items)
        if items and all(i.type == "Tensor" for i in items):
            return Expr(f"std::vector<Tensor>{{{codes}}}", "Tensor[]")
        if all(i.type == "int" for i in items):
            return Expr(f"std::vector<int64_t>{{{codes}}}", "int[]")
        if all(i.type in ("int", "float") for i in items):
            return Expr(f"std::vector<double>{{{codes}}}", "float[]")
        self._fail("a list holds tensors only, or numbers only")

    def _binary(self, node: ast.BinOp) -> Expr:
        a, b = self._expr(node.left), self._expr(node.right)
        if a.type == "Tensor" or b.type == "Tensor":
            return self._op_call(_OPERATORS[type(node.op)], [a, b], {})
        numbers = ("int", "float")
        if a.type in numbers and b.type in numbers:
            kind = "int" if a.type == b.type == "int" and not isinstance(node.op, ast.Div) else "float"
            left = f"static_cast<double>({a.code})" if isinstance(node.op, ast.Div) else a.code
            return Expr(f"({left} {_SCALAR_OPERATORS[type(node.op)]} {b.code})", kind)
        self._fail(f"no operator for {a.type} and {b.type}")

    def _compare(self, node: ast.Compare) -> Expr:
        if len(node.ops) != 1:
            self._fail("comparisons do not chain")
        a, b = self._expr(node.left), self._expr(node.comparators[0])
        op, symbol = _COMPARISONS[type(node.ops[0])]
        if a.type == "Tensor" or b.type == "Tensor":
            return self._op_call(op, [a, b], {})
        if a.type == b.type or {a.type, b.type} == {"int", "float"}:
            return Expr(f"({a.code} {symbol} {b.code})", "bool")
        self._fail(f"cannot compare {a.type} and {b.type}")

    def _meta(self, name: str, node: ast.Call) -> Expr:
        kind, template = META_FUNCTIONS[name]
        if not node.args:
            self._fail(f"{name}() needs an argument")
        target = node.args[0]
        rest = [self._expr(a) for a in node.args[1:]]
        if isinstance(target, ast.Name) and target.id in self._names and self._meta_of is not None:
            code = self._meta_of(name, target.id, [r.code for r in rest])
            if code is not None:
                self.use.meta.add((name, target.id, *[r.code for r in rest]))
                return Expr(code, kind)
        x = self._expr(target)
        if x.type not in ("Tensor", "Tensor[]"):
            self._fail(f"{name}() takes a tensor, not {x.type}")
        return Expr(template.format(x.code, *[r.code for r in rest]), kind)

    def _op_call(self, name: str, args: list[Expr], kwargs: dict[str, Expr]) -> Expr:
        callee = self._index.get(name)
        if callee is None:
            self._fail(f"no op is named {name!r}")
        self.use.ops.add(name)
        if len(args) > len(callee.params):
            self._fail(f"{name} takes {len(callee.params)} arguments, {len(args)} given")
        given = dict(zip((p.name for p in callee.params), args))
        for k, v in kwargs.items():
            if k not in callee.by_name:
                self._fail(f"{name} has no parameter {k!r}")
            if k in given:
                self._fail(f"{name}: parameter {k!r} is given twice")
            given[k] = v
        # A number beside a tensor becomes a 0-d tensor of the tensor's dtype; the tensor is
        # named first if it is more than a name, so that it is computed once.
        like = next(
            (
                given[p.name]
                for p in callee.params
                if p.is_tensor and p.name in given and given[p.name].type == "Tensor"
            ),
            None,
        )
        bound = (
            like is not None
            and not like.code.isidentifier()
            and any(
                p.is_tensor and p.name in given and given[p.name].type in ("int", "float", "Scalar")
                for p in callee.params
            )
        )
        tensor = "like" if bound else like and like.code
        codes = []
        for p in callee.params:
            if p.name not in given:
                if p.default is None and not p.optional:
                    self._fail(f"{name} needs parameter {p.name!r}")
                codes.append(cpp_default(p))
            elif bound and given[p.name] is like:
                codes.append("like")
            else:
                codes.append(self._convert(name, p, given[p.name], tensor))
        if not callee.outputs:
            self._fail(f"{name} has no output")
        out = "Tensor[]" if callee.outputs[0].is_list else "Tensor"
        call = f"ops::{name}({', '.join(codes)})"
        if bound:
            call = f"[&](const Tensor& like) {{ return {call}; }}({like.code})"
        # Of several outputs a formula uses the first, unless it says otherwise (_output).
        return Expr(f"{_FIRST}{call})" if len(callee.outputs) > 1 else call, out)

    def _output(self, node: ast.Subscript) -> Expr:
        """`op(...)[k]`: output k of an op with several."""
        call, k = self._expr(node.value), node.slice.value
        if not isinstance(node.value, ast.Call):  # a mutant
            self._fail("only an output of a call is chosen by [number]")
        callee = self._index.get(node.value.func.id)
        if callee is None or len(callee.outputs) < 2 or not 0 <= k < len(callee.outputs):
            self._fail(f"{node.value.func.id} has no output {k} to choose")
        return Expr(output_of(call.code, k), "Tensor[]" if callee.outputs[k].is_list else "Tensor")

    def _convert(self, callee: str, p: model.Param, e: Expr, tensor: str | None) -> str:
        want, have = p.type.name, e.type
        if have == want:
            return e.code
        if have == "none" and p.optional:
            return "Tensor()" if p.is_tensor else "std::nullopt"
        if want == "Tensor" and have in ("int", "float", "Scalar") and tensor is not None:
            return f"ScalarLike({tensor}, {e.code})"
        if want == "Scalar" and have in ("int", "float", "bool"):
            return f"Scalar({e.code})"
        if want == "float" and have == "int":
            return f"static_cast<double>({e.code})"
        if want == "IntArray" and have == "int[]":
            return f"IntArray({e.code})"
        if want == "int[]" and have == "IntArray":
            return f"{e.code}.values()"
        if want == "int[]" and have == "int":
            return f"std::vector<int64_t>{{{e.code}}}"
        if have == want + "?":
            if p.optional:
                return e.code
            self._fail(f"{callee}: {p.name} may be None")
        self._fail(f"{callee}: parameter {p.name} is {want}, the formula gives {have}")


def cpp_default(p: model.Param) -> str:
    """The C++ expression of a parameter's default."""
    text = p.default
    kind = p.type.name
    if text is None or text == "none":
        if p.is_tensor:
            return "Tensor()"
        return "{}" if p.type.name.endswith("[]") or p.type.name == "IntArray" else "std::nullopt"
    if kind in ("bool", "int", "float"):
        value = {"inf": "std::numeric_limits<double>::infinity()", "-inf": "-std::numeric_limits<double>::infinity()"}
        return value.get(text, text)
    if kind == "str":
        return '"' + text.strip("\"'") + '"'
    if kind in ("int[]", "float[]", "IntArray"):
        body = "{" + text.strip()[1:-1] + "}"
        element = "double" if kind == "float[]" else "int64_t"
        if kind == "IntArray":
            return f"IntArray({body})" if body != "{}" else "IntArray()"
        return f"std::vector<{element}>{body}" if body != "{}" else "{}"
    if kind == "Scalar":
        return (
            f"Scalar({text})"
            if "." in text or text in ("true", "false") or "e" in text
            else f"Scalar(int64_t{{{text}}})"
        )
    if kind == "DType":
        from ops.schema import param_types

        return f"DType::{param_types.DTYPE_CPP[text][0]}"
    raise AssertionError(f"no default for {p}")
