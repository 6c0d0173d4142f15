#include "ops/collective/collective_infer.h"

#include "ops/infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void RequireRanks(const char* op, int64_t ranks) {
  PROA_REQUIRE(ranks > 0, op, ": ranks is ", ranks, "; it must be positive");
}

int64_t Rows(const char* op, const char* name,
             std::span<const int64_t> splits) {
  int64_t sum = 0;
  for (size_t i = 0; i < splits.size(); ++i) {
    PROA_REQUIRE(splits[i] >= 0 && splits[i] <= INT64_MAX - sum, op, ": ", name,
                 "[", i, "] is ", splits[i],
                 "; numbers of rows must not be negative, and add up");
    sum += splits[i];
  }
  return sum;
}

}  // namespace

Shape gathered(const char* op, const Tensor& x, int64_t ranks) {
  RequireRanks(op, ranks);
  Shape out = x.shape();
  if (out.rank() == 0) {
    out = {ranks};
  } else if (!IsUnknown(out[0])) {
    out[0] = CheckedMul(out[0], ranks);
  }
  return out;
}

Shape part_of_rank(const char* op, const Tensor& x, int64_t ranks) {
  RequireRanks(op, ranks);
  PROA_REQUIRE(x.rank() > 0, op, ": x needs 1 dim or more; x is ", Describe(x));
  Shape out = x.shape();
  if (IsUnknown(out[0])) return out;
  PROA_REQUIRE(out[0] % ranks == 0, op, ": ", ranks,
               " ranks do not divide dim 0; x is ", Describe(x));
  out[0] /= ranks;
  return out;
}

Shape exchanged(const char* op, const Tensor& x,
                std::span<const int64_t> in_splits,
                std::span<const int64_t> out_splits) {
  PROA_REQUIRE(x.rank() > 0, op, ": x needs 1 dim or more; x is ", Describe(x));
  PROA_REQUIRE(in_splits.size() == out_splits.size(), op, ": in_splits has ",
               in_splits.size(), " numbers and out_splits ", out_splits.size(),
               "; give both, one for each rank");
  Shape out = x.shape();
  if (in_splits.empty()) return out;
  const int64_t rows = Rows(op, "in_splits", in_splits);
  PROA_REQUIRE(IsUnknown(out[0]) || out[0] == rows, op,
               ": in_splits adds up to ", rows, " rows; x is ", Describe(x));
  out[0] = Rows(op, "out_splits", out_splits);
  return out;
}

}  // namespace proa::inline v0::ops::infer
