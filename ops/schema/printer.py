"""Writes an op of the model back as schema text; parsing the text gives the same op."""

from __future__ import annotations

import json

from ops.schema import model, param_types


def signature(op: model.Op) -> str:
    """'multiply(Tensor x, Tensor y) -> Tensor out'."""
    params = ", ".join(
        f"{p.type.name}{'?' if p.optional else ''} {p.name}" + ("" if p.default is None else f"={p.default}")
        for p in op.params
    )
    outputs = ", ".join(
        f"Tensor{f'({o.aliases})' if o.aliases else ''}{'[]' if o.is_list else ''} {o.name}" for o in op.outputs
    )
    return f"{op.name}({params})" + (f" -> {outputs}" if outputs else "")


def entry(op: model.Op) -> str:
    """The YAML of one op, with every key that differs from its default."""
    q = json.dumps  # a JSON string is a YAML string
    lines = [f"- op: {q(signature(op))}", f"  doc: {q(op.doc)}"]
    if op.infer:
        lines.append("  infer:")
        if op.compute is not None:
            lines.append(f"    compute: {q(op.compute.text)}")
        for name, r in op.infer.items():
            order = f", order: {q(r.order.text)}" if r.order is not None else ""
            lines.append(f"    {name}: {{shape: {q(r.shape.text)}, dtype: {q(r.dtype.text)}{order}}}")
    if op.kernel:
        k = op.kernel
        cpu = "elementwise" if k.elementwise else f"{{function: {k.function}, simd: {q(k.simd)}}}"
        lines += ["  kernel:", f"    cpu: {cpu}"]
        lines += [
            f"    {d.backend}: {{function: {d.function}, dtypes: {q(list(d.dtypes))}}}" for d in op.device_kernels
        ]
        if op.strided and not k.elementwise:
            lines.append("  accepts: strided")
        if op.channels_last:
            lines.append("  accepts: channels_last")
    else:
        c = op.composite
        lines.append(f"  composite: {q(c if isinstance(c, str) else c.text)}")
    if op.dtypes != param_types.DTYPES:
        lines.append(f"  dtypes: {q(list(op.dtypes))}")
    if op.inplace:
        lines.append(f"  inplace: {op.inplace} -> {op.outputs[0].name}")
    if op.mutates:
        lines.append(f"  mutates: {q(list(op.mutates))}")
    if op.rows_form or op.rows_params:
        lines.append(f"  row_sparse: {op.rows_form or q(list(op.rows_params))}")
    if op.kernel:
        if op.grad is None:
            lines.append("  grad: none")
        else:
            lines.append("  grad:")
            lines += [f"    {n}: {'none' if f is None else q(f.text)}" for n, f in op.grad.items()]
    if op.takes_wider_grads:
        lines.append("  takes_wider_grads: true")
    if op.recompute:
        text = q(op.recompute.text)
        lines.append(f"  recompute: {f'{{behind_recomputed: {text}}}' if op.recompute_behind else text}")
    if op.elements:
        lines.append(f"  elements: {q(op.elements.text)}")
    if op.inference:
        lines.append("  inference:")
        lines += [f"    {n}: {q(f.text)}" for n, f in op.inference.items()]
    elif op.kernel:
        lines.append("  inference: none")
    for key, value, default in (
        ("amp", op.amp, "keep"),
        ("flops", op.flops.text if op.flops else None, None),
        ("fuse", op.fuse, "none"),
        ("random", op.random, False),
        ("reuses", op.reuses, None),
        ("data_dependent", op.data_dependent, False),
        ("of_bytes", op.of_bytes, False),
        ("version", op.version, 1),
    ):
        if value != default:
            lines.append(f"  {key}: {q(value)}")
    if op.python:
        p = op.python
        items = [
            f"{k}: {q(v)}"
            for k, v in (
                ("function", p.function),
                ("method", p.method),
                ("operator", p.operator),
                ("module", p.module),
                ("params", p.params or None),
            )
            if v is not None
        ]
        lines.append(f"  python: {{{', '.join(items)}}}")
    if op.aliases:
        lines.append("  aliases:")
        for a in op.aliases:
            params = ", ".join(n if d is None else f"{n}={d}" for n, d in a.params)
            call = f"{a.name}({params})" if a.formula else a.name
            lines.append(f"    {q(call)}: {q(a.formula.text) if a.formula else ''}".rstrip())
    if op.samples:
        lines.append(f"  samples: {q(list(op.samples))}")
    elif not op.mutates:
        lines.append("  samples: none")
    if op.errors:
        lines.append("  errors:")
        lines += [f"  - {{args: {q(e.args)}, says: {q(e.says)}, type: {e.type}}}" for e in op.errors]
    return "\n".join(lines) + "\n"
