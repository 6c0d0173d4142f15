// Composites: momentum of parameters with rates of their own, and of places.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "ops/elementwise/cast_ops.h"
#include "ops/indexing/rows_ops.h"
#include "ops/int_array.h"
#include "ops/manipulation/view_ops.h"
#include "ops/optimizer/gradient_descent_ops.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

constexpr char kMerged[] = "merged_momentum_";
constexpr char kSparse[] = "sparse_momentum_";

void CheckCount(const char* name, size_t count, size_t params) {
  PROA_REQUIRE(count == params, kMerged, ": ", name, " has ", count,
               " tensors, but there are ", params, " params");
}

// The elements of `list` with the numbers `at`; none of an empty list.
std::vector<Tensor> Chosen(std::span<const Tensor> list,
                           std::span<const size_t> at) {
  std::vector<Tensor> out;
  if (list.empty()) return out;
  for (const size_t i : at) out.push_back(list[i]);
  return out;
}

// grad at the places of `axis`, row-sparse if that is the first one.
Tensor AtPlaces(const Tensor& grad, const Tensor& places, int64_t axis,
                int64_t size) {
  if (axis == 0) return row_sparse(places, grad, size);
  std::vector<int64_t> perm(grad.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[axis]);
  const Tensor rows = row_sparse(places, transpose(grad, perm), size);
  return transpose(to_dense(rows), perm);
}

}  // namespace

void MergedMomentum(std::span<const Tensor> params,
                    std::span<const Tensor> grads,
                    std::span<const Tensor> velocities,
                    std::span<const Tensor> lrs, double momentum,
                    bool use_nesterov, std::span<const double> l2,
                    double grad_scale, std::span<const Tensor> rounded) {
  const size_t n = params.size();
  CheckCount("grads", grads.size(), n);
  CheckCount("velocities", velocities.size(), n);
  if (lrs.size() != 1) CheckCount("lrs", lrs.size(), n);
  if (!rounded.empty()) CheckCount("rounded", rounded.size(), n);
  PROA_REQUIRE(l2.size() <= 1 || l2.size() == n, kMerged, ": l2 has ",
               l2.size(), " numbers, but there are ", n, " params");
  const auto rate = [&](size_t i) -> const Tensor& {
    return lrs[lrs.size() == 1 ? 0 : i];
  };
  const auto decay = [&](size_t i) {
    return l2.empty() ? 0.0 : l2[l2.size() == 1 ? 0 : i];
  };
  std::vector<bool> done(n, false);
  for (size_t first = 0; first < n; ++first) {
    if (done[first]) continue;
    std::vector<size_t> alike;
    for (size_t i = first; i < n; ++i) {
      if (done[i] || !rate(i).is_same(rate(first)) ||
          decay(i) != decay(first)) {
        continue;
      }
      done[i] = true;
      alike.push_back(i);
    }
    momentum_(Chosen(params, alike), Chosen(grads, alike),
              Chosen(velocities, alike), rate(first), momentum, use_nesterov,
              1.0, decay(first), grad_scale, Chosen(rounded, alike));
  }
}

void SparseMomentum(const Tensor& param, const Tensor& grad,
                    const Tensor& velocity, const Tensor& index,
                    const Tensor& lr, double momentum, bool use_nesterov,
                    int64_t axis, double l2, double grad_scale,
                    std::span<const Tensor> rounded) {
  PROA_REQUIRE(param.rank() > 0, kSparse,
               ": param must have a dim at least; it is ", Describe(param));
  const int64_t rank = param.rank();
  PROA_REQUIRE(axis >= -rank && axis < rank, kSparse, ": axis ", axis,
               " is out of range; param is ", Describe(param));
  if (axis < 0) axis += rank;
  if (index.dtype() != DType::kInt64 && index.dtype() != DType::kInt32) {
    ThrowTypeError(absl::StrCat(
        kSparse, ": index must be int64 or int32; it is ", Describe(index)));
  }
  PROA_REQUIRE(
      index.rank() == 1 || (index.rank() == 2 && index.shape()[1] == 1),
      kSparse, ": index must be [k] or [k, 1]; it is ", Describe(index));
  const int64_t count = index.shape()[0];
  bool fits = grad.rank() == rank;
  for (int64_t i = 0; fits && i < rank; ++i) {
    fits = grad.shape()[i] == (i == axis ? count : param.shape()[i]);
  }
  PROA_REQUIRE(fits, kSparse, ": grad must have ", count, " of axis ", axis,
               ", as index names, and else the shape of param; grad is ",
               Describe(grad), ", param is ", Describe(param));
  const Tensor places = reshape(cast(index, DType::kInt64), IntArray({count}));
  const Tensor all = AtPlaces(grad, places, axis, param.shape()[axis]);
  momentum_({&param, 1}, {&all, 1}, {&velocity, 1}, lr, momentum, use_nesterov,
            1.0, l2, grad_scale, rounded);
}

}  // namespace proa::inline v0::ops
