// Kernels of cast.yaml.
#include <cstring>

#include "ops/elementwise/cast_kernels.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

void ConvertLoop(const void* convert, char* const* data, int64_t n) {
  (*static_cast<const ConvertFn*>(convert))(data[1], data[0], n);
}

void CopyLoop(const void* item_size, char* const* data, int64_t n) {
  std::memcpy(data[0], data[1], n * *static_cast<const int64_t*>(item_size));
}

// Moving bytes costs less than adding: larger pieces for each thread.
constexpr float kCopyCost = 0.5f;

}  // namespace

void Cast(const KernelContext& ctx, const Tensor& x, DType dtype, Tensor* out) {
  const Tensor* inputs[] = {&x};
  const ConvertFn convert = FindConvert(x.dtype(), out->dtype());
  if (convert == nullptr) return Assign(ctx, x, out);
  const ElementwiseLoop loop = {&ConvertLoop, 2, {out->dtype(), x.dtype()}, 1};
  RunBlocks(loop, &convert, out, inputs);
}

void Assign(const KernelContext& ctx, const Tensor& x, Tensor* out) {
  // Copies that must turn rows into columns are done in tiles.
  if (!x.is_contiguous()) return cpu::CopyElements(x, *out);
  const Tensor* inputs[] = {&x};
  const int64_t item_size = ItemSize(x.dtype());
  const ElementwiseLoop loop = {
      &CopyLoop, 2, {x.dtype(), x.dtype()}, kCopyCost};
  RunBlocks(loop, &item_size, out, inputs);
}

}  // namespace proa::inline v0::ops::PROA_ISA
