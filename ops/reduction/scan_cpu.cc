// Kernels of scan.yaml: x is brought to the accumulator type, contiguous, if it
// is not that, and scanned.
#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/scan.h"
#include "ops/reduction/load.h"
#include "ops/reduction/scan_kernels.h"
#include "ops/reduction/scan_lines.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// `in` and `out` are contiguous and of the accumulator type.
template <class Op>
void ScanIn(const Tensor& in, const Tensor& out, int64_t outer, int64_t n,
            int64_t inner) {
  const auto scan = [&]<class T>(T) {
    Scan<Op>(in.data<T>(), out.data<T>(), outer, n, inner);
  };
  switch (out.dtype()) {
    case DType::kInt64:
      return scan(int64_t{});
    case DType::kFloat32:
      return scan(float{});
    case DType::kFloat64:
      return scan(double{});
    case DType::kComplex64:
      return scan(complex64{});
    default:
      return scan(complex128{});
  }
}

template <class Op>
void ScanAxis(const Tensor& of, std::optional<int64_t> axis, Tensor* out) {
  if (of.numel() == 0) return;
  const Tensor x = AsTruth(of, out->dtype());
  const DType accumulator = AccumulatorOf(out->dtype());
  const bool direct = accumulator == out->dtype();
  const Tensor acc = direct ? *out : Tensor::Empty(out->shape(), accumulator);
  const bool as_is = x.dtype() == accumulator && x.is_contiguous();
  if (!as_is) Load(x, acc);
  const ScanLines lines(x, axis);
  ScanIn<Op>(as_is ? x : acc, acc, lines.outer, lines.n, lines.inner);
  if (!direct) Load(acc, *out);
}

}  // namespace

void Cumsum(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            std::optional<DType>, Tensor* out) {
  ScanAxis<SumOf>(x, axis, out);
}

void Cumprod(const KernelContext&, const Tensor& x, std::optional<int64_t> dim,
             std::optional<DType>, Tensor* out) {
  ScanAxis<ProductOf>(x, dim, out);
}

}  // namespace proa::inline v0::ops::PROA_ISA
