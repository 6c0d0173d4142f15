// Kernels of norms, compiled once per instruction set.
#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/optimizer/elements.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/norm_kernels.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int64_t kChunk = 1 << 14;  // elements that are summed into one slot

// Sums in 16 lanes, which the compiler keeps in vectors.
template <typename T>
double SumOfSquares(const T* x, int64_t n) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      const double v = static_cast<double>(static_cast<Wide<T>>(x[i + j]));
      lanes[j] += v * v;
    }
  }
  for (int j = 0; i < n; ++i, ++j) {
    const double v = static_cast<double>(static_cast<Wide<T>>(x[i]));
    lanes[j] += v * v;
  }
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

struct Chunk {
  const Tensor* x;
  int64_t begin, end;
};

}  // namespace

void SquaredNorm(const KernelContext&, std::span<const Tensor> xs,
                 Tensor* out) {
  optimizer::CheckFloating("squared_norm", "xs", xs);
  std::vector<Tensor> held(xs.begin(), xs.end());
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < held.size(); ++i) {
    Tensor& x = held[i];
    if (IsRowSparse(x)) x = ValuesOf(MergeRows(x));
    for (int64_t begin = 0; begin < x.numel(); begin += kChunk) {
      chunks.push_back({&x, begin, std::min(begin + kChunk, x.numel())});
    }
  }
  const int64_t count = static_cast<int64_t>(chunks.size());
  std::vector<double> sums(count);
  parallel_for(0, count, 2, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      const Chunk& c = chunks[k];
      VisitFloating(c.x->dtype(), [&]<typename T>(TypeTag<T>) {
        sums[k] = SumOfSquares(c.x->data<T>() + c.begin, c.end - c.begin);
      });
    }
  });
  *out->data<double>() = std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace proa::inline v0::ops::PROA_ISA
