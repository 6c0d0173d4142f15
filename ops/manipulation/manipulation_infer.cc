#include "ops/manipulation/manipulation_infer.h"

#include "ops/infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {

void RequireRank(const char* op, int64_t rank) {
  PROA_REQUIRE(rank <= kMaxRank, op, ": the result has ", rank,
               " dims, more than ", kMaxRank);
}

int64_t MulSizes(const char* op, int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == 1) return b;
  if (b == 1) return a;
  if (IsUnknown(a) || IsUnknown(b)) return kUnknownDim;
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) {
    FailArgument(op, ": size overflows int64");
  }
  return r;
}

int64_t AddSizes(const char* op, int64_t a, int64_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (IsUnknown(a) || IsUnknown(b)) return kUnknownDim;
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) {
    FailArgument(op, ": size overflows int64");
  }
  return r;
}

void RequireShape(const char* op, const char* name, const Tensor& t,
                  const Shape& expected, const char* what) {
  bool good = t.rank() == expected.rank();
  for (int i = 0; good && i < t.rank(); ++i) {
    good = t.size(i) == expected[i] || IsUnknown(t.size(i)) ||
           IsUnknown(expected[i]);
  }
  PROA_REQUIRE(good, op, ": ", name, " does not have the shape of ", what, ", ",
               ToString(expected), "; ", name, " is ", Describe(t));
}

Shape rank_of(const char* op, const Tensor& x) { return {x.rank()}; }
Shape scalar(const char* op, const Tensor& x) { return {}; }

}  // namespace proa::inline v0::ops::infer
