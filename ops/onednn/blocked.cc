#include "ops/onednn/blocked.h"

#include <cstdint>
#include <memory>

#include "ops/onednn/descriptor.h"
#include "ops/onednn/reorder.h"
#include "ops/onednn/reorders.h"
#include "tensor/error.h"
#include "tensor/storage.h"

namespace proa::inline v0::onednn {
namespace {

void Move(const dnnl::memory::desc& from, void* src,
          const dnnl::memory::desc& to, void* dst) {
  CountReorder(/*of_weights=*/false);
  Reorder(from, src, to, dst);
}

struct Format final : LayoutData {
  explicit Format(const dnnl::memory::desc& d) : desc(d) {}
  Tensor ToStrided(const Tensor& t) const override {
    const Tensor out = Tensor::Empty(t.shape(), t.dtype());
    if (t.numel() > 0) {
      Move(desc, t.storage()->data(), Descriptor(out), out.raw_data());
    }
    return out;
  }
  const dnnl::memory::desc desc;
};

}  // namespace

Tensor EmptyInFormat(const Shape& shape, DType dtype,
                     const dnnl::memory::desc& format) {
  Tensor out = Tensor::Symbolic(shape, dtype);
  TensorImpl& impl = *out.impl();
  impl.layout = Layout::kBlocked;
  impl.contiguous = false;
  impl.storage =
      Storage::Allocate(static_cast<int64_t>(format.get_size()), Place{});
  impl.layout_data = std::make_shared<Format>(format);
  return out;
}

dnnl::memory::desc FormatOf(const Tensor& t) {
  if (!IsBlocked(t)) return Descriptor(t);
  return static_cast<const Format&>(*t.impl()->layout_data).desc;
}

Tensor ToFormat(const Tensor& x, const dnnl::memory::desc& format) {
  PROA_REQUIRE(x.place().is_cpu() && x.storage(),
               "to_format: x must be a tensor with elements on the CPU; x is ",
               Describe(x));
  const dnnl::memory::desc from = FormatOf(x);
  if (IsBlocked(x) && from == format) return x;
  Tensor out = EmptyInFormat(x.shape(), x.dtype(), format);
  if (x.numel() > 0) {
    void* elements = IsBlocked(x) ? x.storage()->data() : x.raw_data();
    Move(from, elements, format, out.storage()->data());
  }
  return out;
}

}  // namespace proa::inline v0::onednn
