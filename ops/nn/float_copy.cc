#include "ops/nn/float_copy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {

void RefuseNotFloat(DType t) {
  ThrowTypeError(absl::StrCat("dtype must be a floating point type, not ",
                              std::string(Name(t))));
}

void FloatCopyInto(const Tensor& from, const Tensor& to) {
  const Tensor source = Contiguous(from);
  VisitFloat(source.dtype(), [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    VisitFloat(to.dtype(), [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const From* a = source.data<From>();
      To* b = to.data<To>();
      parallel_for(0, source.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if constexpr (std::is_same_v<From, double>) {
            b[i] = To(a[i]);
          } else {
            b[i] = To(static_cast<float>(a[i]));
          }
        }
      });
    });
  });
}

Tensor FloatCopy(const Tensor& t, DType dtype) {
  if (!t.defined()) return t;
  if (t.dtype() == dtype) return Contiguous(t);
  Tensor out = Tensor::Empty(t.shape(), dtype, t.place());
  FloatCopyInto(t, out);
  return out;
}

}  // namespace proa::inline v0::ops
