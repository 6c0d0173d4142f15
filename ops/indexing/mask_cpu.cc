// Kernels that choose elements by a condition. Results are counted first, chunk
// by chunk, so that chunks can be written side by side.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/indexing/mask_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "ops/primitives/item_size.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kChunk = 16384;

// Number of true flags before each chunk, and in the end of all.
std::vector<int64_t> CountBefore(const bool* flags, int64_t n) {
  std::vector<int64_t> before(n / kChunk + 2, 0);
  parallel_chunks(n, kChunk, [&](int64_t chunk, int64_t b, int64_t e) {
    before[chunk + 1] = std::count(flags + b, flags + e, true);
  });
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  return before;
}

Tensor Broadcast(const Tensor& t, const Shape& shape) {
  if (t.shape() == shape && t.is_contiguous()) return t;
  const Tensor out = Tensor::Empty(shape, t.dtype(), t.place());
  CopyElements(t, out);
  return out;
}

// Which elements of x are not 0.
Tensor TruthOf(const Tensor& x) {
  if (x.dtype() == DType::kBool) return x;
  const Tensor truth = Tensor::Empty(x.shape(), DType::kBool);
  bool* flags = truth.data<bool>();
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* v = x.data<T>();
    parallel_for(0, x.numel(), kChunk, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        if constexpr (IsComplex(kDTypeOf<T>)) {
          flags[i] = v[i].real() != 0 || v[i].imag() != 0;
        } else {
          flags[i] = static_cast<bool>(v[i] != T(0));
        }
      }
    });
  });
  return truth;
}

// Indices of the true flags from flat position `at` on as rows [row, end), at
// least one dim each. Flags are not to be predicted, so each place is written
// and the next one over it, unless the flag is true.
void WritePlaces(const bool* flags, int64_t at, const Shape& shape,
                 int64_t* row, const int64_t* end) {
  const int rank = shape.rank();
  int64_t place[kMaxRank];
  for (int64_t d = rank, rest = at; d-- > 0; rest /= shape[d])
    place[d] = rest % shape[d];
  while (row != end) {
    int64_t* const first = row;
    for (int64_t j = place[rank - 1]; j < shape[rank - 1] && row != end; ++j) {
      row[rank - 1] = j;
      row += flags[at++] * rank;
    }
    for (int d = 0; d + 1 < rank; ++d)
      for (int64_t* r = first; r != row; r += rank) r[d] = place[d];
    place[rank - 1] = 0;
    for (int d = rank - 2; d >= 0 && ++place[d] == shape[d]; --d) place[d] = 0;
  }
}

}  // namespace

void Nonzero(const KernelContext&, const Tensor& x, Tensor* out) {
  const int64_t n = x.numel();
  const int rank = x.rank();
  const Tensor truth = TruthOf(x);
  const bool* flags = truth.data<bool>();
  const std::vector<int64_t> before = CountBefore(flags, n);
  *out = Tensor::Empty({before.back(), rank}, DType::kInt64, x.place());
  if (out->numel() == 0) return;
  int64_t* to = out->data<int64_t>();
  parallel_chunks(n, kChunk, [&](int64_t chunk, int64_t b, int64_t) {
    WritePlaces(flags, b, x.shape(), to + before[chunk] * rank,
                to + before[chunk + 1] * rank);
  });
}

void MaskedSelect(const KernelContext&, const Tensor& x, const Tensor& mask,
                  Tensor* out) {
  const Shape shape = BroadcastShapes("masked_select", x.shape(), mask.shape());
  const Tensor all = Broadcast(x, shape), chosen = Broadcast(mask, shape);
  const bool* flags = chosen.data<bool>();
  const std::vector<int64_t> before = CountBefore(flags, shape.numel());
  *out = Tensor::Empty({before.back()}, x.dtype(), x.place());
  VisitItemSize(ItemSize(x.dtype()), [&]<typename T>(T) {
    const T* from = all.data<T>();
    T* to = out->data<T>();
    parallel_chunks(shape.numel(), kChunk,
                    [&](int64_t chunk, int64_t i, int64_t) {
                      int64_t k = before[chunk];
                      const int64_t end = before[chunk + 1];
                      for (; k < end; ++i) {  // without branches on flags
                        to[k] = from[i];
                        k += flags[i];
                      }
                    });
  });
}

void MaskedSelectGrad(const KernelContext&, const Tensor& dy,
                      const Tensor& mask, const IntArray&, Tensor* out) {
  const Tensor chosen = Broadcast(mask, out->shape());
  const bool* flags = chosen.data<bool>();
  const std::vector<int64_t> before = CountBefore(flags, out->numel());
  PROA_REQUIRE(dy.numel() == before.back(), "masked_select_grad: dy has ",
               dy.numel(), " elements, but the mask chooses ", before.back());
  Zero(*out);
  VisitItemSize(ItemSize(dy.dtype()), [&]<typename T>(T) {
    const T* from = dy.data<T>();
    T* to = out->data<T>();
    parallel_chunks(out->numel(), kChunk,
                    [&](int64_t chunk, int64_t i, int64_t) {
                      int64_t k = before[chunk];
                      const int64_t end = before[chunk + 1];
                      for (; k < end; ++i) {
                        to[i] = flags[i] ? from[k] : T();
                        k += flags[i];
                      }
                    });
  });
}

}  // namespace proa::inline v0::ops::cpu
