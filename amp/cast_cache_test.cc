// When a parameter is cast anew, and what a kept cast must not change.
#include "amp/cast_cache.h"

#include <thread>
#include <vector>

#include "amp/autocast.h"
#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "gtest/gtest.h"
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/int_array.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace proa::inline v0::amp {
namespace {

constexpr DType kLow = DType::kBFloat16;
const Autocast kO1{.dtype = kLow};

Tensor Full(double value) {
  return ops::full(IntArray({4, 4}), Scalar(value), DType::kFloat32);
}

Tensor Parameter(double value = 1.0) {
  Tensor w = Full(value);
  autograd::SetRequiresGrad(w, true);
  return w;
}

float First(const Tensor& t) {
  return ops::cast(t, DType::kFloat32).data<float>()[0];
}

TEST(CastCacheTest, OnceUntilItChanges) {
  const Tensor w = Parameter();
  const AutocastScope scope(kO1);
  const Tensor a = CastOnce(w, kLow), b = CastOnce(w, kLow);
  EXPECT_EQ(a.raw_data(), b.raw_data());
  EXPECT_FALSE(a.is_same(b));
  EXPECT_EQ(NumKeptCasts(), 1);
  {
    const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
    ops::add_(w, Full(2.0));
  }
  EXPECT_EQ(First(CastOnce(w, kLow)), 3.0f);
  EXPECT_EQ(First(a), 1.0f);
  EXPECT_EQ(NumKeptCasts(), 1);
  EXPECT_EQ(CastOnce(w, DType::kFloat16).dtype(), DType::kFloat16);
  EXPECT_EQ(NumKeptCasts(), 2);
}

TEST(CastCacheTest, OnlyParameters) {
  const Tensor x = Full(1.0);
  const AutocastScope scope(kO1);
  CastOnce(x, kLow);
  CastOnce(ops::add(Parameter(), x), kLow);
  EXPECT_EQ(NumKeptCasts(), 0);
}

TEST(CastCacheTest, FrozenParametersToo) {
  const Tensor w = Parameter();
  autograd::SetRequiresGrad(w, false);
  const AutocastScope scope(kO1);
  const Tensor a = CastOnce(w, kLow);
  EXPECT_EQ(a.raw_data(), CastOnce(w, kLow).raw_data());
  EXPECT_FALSE(autograd::RequiresGrad(a));
  EXPECT_EQ(NumKeptCasts(), 1);
  // Set free again: what was kept serves, with a history.
  autograd::SetRequiresGrad(w, true);
  const Tensor b = CastOnce(w, kLow);
  EXPECT_TRUE(autograd::RequiresGrad(b));
  EXPECT_EQ(NumKeptCasts(), 1);
}

TEST(CastCacheTest, WhoWritesIntoACastDoesNotChangeTheNext) {
  const Tensor w = Parameter();
  const AutocastScope scope(kO1);
  const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
  ops::add_(CastOnce(w, kLow), ops::cast(Full(1.0), kLow));
  EXPECT_EQ(First(CastOnce(w, kLow)), 1.0f);
}

TEST(CastCacheTest, EndsWithTheOutermostScopeOfItsThread) {
  const Tensor w = Parameter();
  EXPECT_EQ(NumKeptCasts(), 0);
  {
    const AutocastScope outer(kO1);
    {
      const AutocastScope inner({.dtype = DType::kFloat16});
      CastOnce(w, DType::kFloat16);
    }
    EXPECT_EQ(NumKeptCasts(), 1);
    std::thread([] { EXPECT_EQ(NumKeptCasts(), 0); }).join();
  }
  EXPECT_EQ(NumKeptCasts(), 0);
  EXPECT_EQ(w.storage()->use_count(), 1);
}

TEST(CastCacheTest, LeavesThatAreGoneAreDropped) {
  const AutocastScope scope(kO1);
  const Tensor kept = Parameter();
  CastOnce(kept, kLow);
  for (int i = 0; i < 1000; ++i) CastOnce(Parameter(), kLow);
  EXPECT_LE(NumKeptCasts(), 66);
}

// 300 gradients of 1 are 300 in float32; a sum in bfloat16 stays at 256.
TEST(CastCacheTest, GradientsOfUsesAddUpInFloat32) {
  const Tensor w = Parameter();
  const Tensor x = ops::full(IntArray({1, 4}), Scalar(1.0), DType::kFloat32);
  Tensor sum;
  {
    const AutocastScope scope(kO1);
    for (int i = 0; i < 300; ++i) {
      const Tensor y = ops::sum(ops::matmul(x, w));
      sum = sum.defined() ? ops::add(sum, y) : y;
    }
    EXPECT_EQ(NumKeptCasts(), 1);
  }
  autograd::Backward({&sum, 1}, {}, {});
  EXPECT_EQ(autograd::GetGrad(w).dtype(), DType::kFloat32);
  EXPECT_EQ(autograd::GetGrad(w).data<float>()[0], 300.0f);
}

TEST(CastCacheTest, CastsWithoutGradServeWhereGradIsOn) {
  const Tensor w = Parameter();
  const AutocastScope scope(kO1);
  {
    const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
    EXPECT_FALSE(autograd::RequiresGrad(CastOnce(w, kLow)));
  }
  // Two backwards, each through its own use.
  for (int i = 1; i <= 2; ++i) {
    const Tensor loss = ops::sum(ops::cast(CastOnce(w, kLow), w.dtype()));
    autograd::Backward({&loss, 1}, {}, {});
    EXPECT_EQ(autograd::GetGrad(w).data<float>()[0], static_cast<float>(i));
  }
  EXPECT_EQ(NumKeptCasts(), 1);
}

}  // namespace
}  // namespace proa::inline v0::amp
