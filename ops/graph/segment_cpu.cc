// Kernels of segments.
#include <algorithm>
#include <cstdint>

#include "ops/graph/pooling.h"
#include "ops/graph/segment_kernels.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

void Segments(const char* op, Pool pool, const Tensor& x,
              const Tensor& segment_ids, Tensor* out) {
  Shape shape = x.shape();
  shape[0] = CountSegments(op, segment_ids);
  *out = Tensor::Empty(shape, x.dtype(), x.place());
  if (out->numel() == 0) return;
  PoolRows(pool, GroupsOfSegments(segment_ids), x, out);
}

}  // namespace

void SegmentSum(const KernelContext&, const Tensor& x, const Tensor& ids,
                Tensor* out) {
  Segments("segment_sum", Pool::kSum, x, ids, out);
}

void SegmentMean(const KernelContext&, const Tensor& x, const Tensor& ids,
                 Tensor* out) {
  Segments("segment_mean", Pool::kMean, x, ids, out);
}

void SegmentMax(const KernelContext&, const Tensor& x, const Tensor& ids,
                Tensor* out) {
  Segments("segment_max", Pool::kMax, x, ids, out);
}

void SegmentMin(const KernelContext&, const Tensor& x, const Tensor& ids,
                Tensor* out) {
  Segments("segment_min", Pool::kMin, x, ids, out);
}

void SegmentMeanGrad(const KernelContext&, const Tensor& dy, const Tensor& ids,
                     Tensor* out) {
  const int64_t segments = CountSegments("segment_mean_grad", ids);
  PROA_REQUIRE(dy.size(0) == segments, "segment_mean_grad: dy has ", dy.size(0),
               " rows, segments ", segments, "; dy is ", Describe(dy));
  if (dy.numel() == 0) return;
  const RowGroups groups = GroupsOfSegments(ids);
  int64_t inner = 1;
  for (int i = 1; i < dy.rank(); ++i) inner *= dy.size(i);
  VisitDType(dy.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (IsFloat(kDTypeOf<T>)) {
      const T* from = dy.data<T>();
      T* to = out->data<T>();
      parallel_for(0, groups.size(), 16, [&](int64_t b, int64_t e) {
        for (int64_t k = b; k < e; ++k) {
          const double count = static_cast<double>(groups.count(k));
          for (int64_t i = groups.starts[k]; i < groups.starts[k + 1]; ++i) {
            for (int64_t j = 0; j < inner; ++j) {
              to[i * inner + j] = static_cast<T>(
                  static_cast<double>(from[groups.target(k) * inner + j]) /
                  count);
            }
          }
        }
      });
    }
  });
}

}  // namespace proa::inline v0::ops::cpu
