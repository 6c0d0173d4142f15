"""Generates kernel declarations, elementwise kernels and the registration of kernels.

`<stem>_kernels.h`: a declaration of every kernel function a person writes; `<family>_kernels.h` includes them.
`<stem>_elementwise.cc`: kernels made of the formula structs in `<stem>.h`; compiled
once per instruction set; `<stem>_elementwise.cu` likewise for CUDA. `<family>_register.cc`: fills the kernel tables, and
`<family>_register_<backend>.cc` those places of them that a backend besides the CPU has kernels for.
"""

from __future__ import annotations

from ops.schema import cpp, model, param_types

ISAS = (("sse2", "kBaseline"), ("avx2", "kAvx2"), ("avx512", "kAvx512"))


def emit(ops: list[model.Op], family: str) -> dict[str, str]:
    files = {
        f"{family}_kernels.h": cpp.umbrella(ops, family, "kernels"),
        f"{family}_register.cc": _register(ops, family),
    }
    _written(ops, False), _written(ops, True)  # whether those that are shared agree, in all of the family
    for stem in cpp.stems(ops):
        files[f"{stem}_kernels.h"] = _header([o for o in ops if o.stem == stem], family, stem)
    for stem in sorted({o.stem for o in ops if o.kernel and o.kernel.elementwise}):
        chosen = [o for o in ops if o.stem == stem and o.kernel and o.kernel.elementwise]
        files[f"{stem}_elementwise.cc"] = _elementwise(chosen, family, stem)
        on_cuda = {o.name: k for o in chosen for k in o.device_kernels if k.backend == "cuda" and k.elementwise}
        files[f"{stem}_elementwise.cu"] = _elementwise_cuda([o for o in chosen if o.name in on_cuda], family, stem)
    formulas = any(o.kernel and o.kernel.elementwise for o in ops)
    for backend in model.BACKENDS:
        named = any(k.backend == backend for o in ops for k in o.device_kernels)
        if named or (formulas and backend in model.FORMULA_BACKENDS):
            files[f"{family}_register_{backend}.cc"] = _register_backend(ops, family, backend)
    return files


def _written(ops: list[model.Op], simd: bool) -> dict[str, model.Op]:
    """Kernel functions by name; several ops may share one if their signatures agree."""
    out: dict[str, model.Op] = {}
    for op in ops:
        if op.kernel and not op.kernel.elementwise and op.kernel.simd == simd:
            other = out.setdefault(op.kernel.function, op)
            if cpp.kernel_params(other, False) != cpp.kernel_params(op, False):
                raise model.SchemaError(
                    op.location, f"{op.name}: kernel {op.kernel.function} has another signature in {other.name}"
                )
    return out


def _header(ops: list[model.Op], family: str, stem: str) -> str:
    guard = f"PROA_OPS_{family.upper()}_{stem.upper()}_KERNELS_H_"
    out = [
        cpp.head(
            ops,
            [
                "<optional>",
                "<span>",
                "<string_view>",
                "<vector>",
                "ops/int_array.h",
                "ops/kernel.h",
                "tensor/scalar.h",
                "tensor/tensor.h",
            ],
            guard,
        ),
        f"namespace {cpp.NAMESPACE} {{",
    ]
    for space, simd in [("cpu", False)] + [(i, True) for i, _ in ISAS]:
        functions = _written(ops, simd)
        if functions:
            out.append(f"namespace {space} {{")
            out += [f"void {n}({cpp.kernel_params(o)});" for n, o in functions.items()]
            out.append(f"}}  // namespace {space}")
    for backend in model.BACKENDS:
        functions = {k.function: o for o in ops for k in o.device_kernels if k.backend == backend and not k.elementwise}
        if functions:
            out.append(f"namespace {backend} {{")
            out += [f"void {n}({cpp.kernel_params(o)});" for n, o in functions.items()]
            out.append(f"}}  // namespace {backend}")
    out += [f"}}  // namespace {cpp.NAMESPACE}", f"#endif  // {guard}\n"]
    return "\n".join(out)


def _elementwise(ops: list[model.Op], family: str, stem: str) -> str:
    out = [
        cpp.head(
            ops,
            [
                f"ops/{family}/{stem}.h",
                "ops/kernel.h",
                "ops/primitives/cpu/loops.h",
                "tensor/scalar.h",
                "tensor/tensor.h",
            ],
        ),
        f"namespace {cpp.NAMESPACE}::PROA_ISA {{",
    ]
    for op in ops:
        out += _loops_of(op, op.dtypes, cpp.kernel_params(op).replace(" ctx", ""), "")
    out.append(f"}}  // namespace {cpp.NAMESPACE}::PROA_ISA\n")
    return "\n".join(out)


def _elementwise_cuda(ops: list[model.Op], family: str, stem: str) -> str:
    headers = [f"ops/{family}/{stem}.h", "ops/kernel.h", "ops/primitives/cuda/elementwise.cuh"]
    out = [
        cpp.head(ops, [*headers, "tensor/scalar.h", "tensor/tensor.h"]),
        f"namespace {cpp.NAMESPACE}::cuda {{",
    ]
    for op in ops:
        dtypes = next(k.dtypes for k in op.device_kernels if k.backend == "cuda")
        out += _loops_of(op, dtypes, cpp.kernel_params(op), "ctx, ")
    out.append(f"}}  // namespace {cpp.NAMESPACE}::cuda\n")
    return "\n".join(out)


def _loops_of(op: model.Op, dtypes: tuple[str, ...], params: str, context: str) -> list[str]:
    """The kernel of an elementwise op for a type, and the function that finds it by dtype."""
    s = op.cpp_struct
    tensors = ", ".join(p.name for p in op.tensor_params)
    attributes = ", ".join(p.name for p in op.params if not p.type.is_tensor)
    out = [
        "template <typename T>",
        f"void {s}Elementwise({params}) {{",
        f"  RunElementwise<T>({context}formula::{s}{{{attributes}}}, {op.outputs[0].name}, {tensors});",
        "}",
        f"AnyKernel {s}For(DType dtype) {{",
        "  switch (dtype) {",
    ]
    for d in dtypes:
        enum, kind = param_types.DTYPE_CPP[d]
        out.append(f"    case DType::{enum}: return reinterpret_cast<AnyKernel>(&{s}Elementwise<{kind}>);")
    return [*out, "    default: return nullptr;", "  }", "}"]


def _register_backend(ops: list[model.Op], family: str, backend: str) -> str:
    """Linked with the kernels of the backend, where a build has it."""
    chosen = [(o, k) for o in ops for k in o.device_kernels if k.backend == backend]
    out = [
        cpp.head(ops, [f"ops/{family}/{family}_kernels.h", f"ops/{family}/{family}_ops.h", "ops/kernel.h"]),
        f"namespace {cpp.NAMESPACE} {{",
    ]
    if any(k.elementwise for _, k in chosen):
        out.append(f"namespace {backend} {{")
        out += [f"AnyKernel {o.cpp_struct}For(DType dtype);" for o, k in chosen if k.elementwise]
        out.append(f"}}  // namespace {backend}")
    out += ["namespace {", "const bool registered = [] {"]
    kind = model.BACKENDS[backend]
    for op, k in chosen:
        bits = cpp.dtype_bits(k)
        if k.elementwise:
            out.append(
                f"  RegisterEach(op::{op.cpp_struct}::kernels, {kind}, {bits}, Isa::kBaseline, "
                f"&{backend}::{op.cpp_struct}For);"
            )
        else:
            call = f"Register({kind}, {bits}, Isa::kBaseline, " if kind else f"RegisterForDevices({bits}, "
            out.append(
                f"  op::{op.cpp_struct}::kernels.{call}"
                f"reinterpret_cast<AnyKernel>(static_cast<op::{op.cpp_struct}::Kernel>(&{backend}::{k.function})));"
            )
    out += ["  return true;", "}();", "}  // namespace", f"}}  // namespace {cpp.NAMESPACE}\n"]
    return "\n".join(out)


def _register(ops: list[model.Op], family: str) -> str:
    out = [
        cpp.head(ops, [f"ops/{family}/{family}_kernels.h", f"ops/{family}/{family}_ops.h", "ops/kernel.h"]),
        f"namespace {cpp.NAMESPACE} {{",
    ]
    elementwise = [o for o in ops if o.kernel and o.kernel.elementwise]
    for isa, _ in ISAS:
        if elementwise:
            out.append(f"namespace {isa} {{")
            out += [f"AnyKernel {o.cpp_struct}For(DType dtype);" for o in elementwise]
            out.append(f"}}  // namespace {isa}")
    out += ["namespace {", "const bool registered = [] {"]
    for op in ops:
        if not op.kernel:
            continue
        table = f"op::{op.cpp_struct}::kernels"
        bits = cpp.dtype_bits(op)
        if op.kernel.elementwise:
            for isa, enum in ISAS:
                out.append(
                    f"  RegisterEach({table}, DeviceKind::kCPU, {bits}, Isa::{enum}, &{isa}::{op.cpp_struct}For);"
                )
        elif op.kernel.simd:
            for isa, enum in ISAS:
                out.append(
                    f"  {table}.Register(DeviceKind::kCPU, {bits}, Isa::{enum}, "
                    f"reinterpret_cast<AnyKernel>(static_cast<op::{op.cpp_struct}::Kernel>(&{isa}::{op.kernel.function})));"
                )
        else:
            out.append(
                f"  {table}.Register(DeviceKind::kCPU, {bits}, Isa::kBaseline, "
                f"reinterpret_cast<AnyKernel>(static_cast<op::{op.cpp_struct}::Kernel>(&cpu::{op.kernel.function})));"
            )
    out += ["  return true;", "}();", "}  // namespace", f"}}  // namespace {cpp.NAMESPACE}\n"]
    return "\n".join(out)
