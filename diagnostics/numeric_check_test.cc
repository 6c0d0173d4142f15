#include "diagnostics/numeric_check.h"

#include <initializer_list>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/elementwise/binary_ops.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor Numbers(std::initializer_list<float> values) {
  Tensor t =
      Tensor::Empty({static_cast<int64_t>(values.size())}, DType::kFloat32);
  float* out = t.data<float>();
  for (const float v : values) *out++ = v;
  return t;
}

// What a division says while the check is on; nothing if it passes.
std::string Said(const Tensor& x, const Tensor& y) {
  try {
    ops::divide(x, y);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kFailedPrecondition);
    return e.what();
  }
  return "";
}

class NumericCheckTest : public ::testing::Test {
 protected:
  void TearDown() override { SetNumericCheck({}); }
};

TEST_F(NumericCheckTest, SaysWhoMadeIt) {
  EXPECT_EQ(Said(Numbers({0, 1}), Numbers({0, 1})), "");
  SetNumericCheck({.action = NumericAction::kThrow});
  EXPECT_EQ(Said(Numbers({4, 1}), Numbers({2, 1})), "");
  EXPECT_THAT(Said(Numbers({0, 1}), Numbers({0, 1})),
              HasSubstr("divide: made 1 NaN in out"));
  EXPECT_THAT(Said(Numbers({1, 0}), Numbers({0, 0})),
              HasSubstr("divide: made 1 NaN and 1 Inf in out"));
  EXPECT_THAT(Said(Numbers({kNaN}), Numbers({1})), HasSubstr("came in with x"));
}

TEST_F(NumericCheckTest, AnInfThatCameInIsNoMistake) {
  SetNumericCheck({.action = NumericAction::kThrow});
  EXPECT_EQ(Said(Numbers({kInf}), Numbers({2})), "");
  EXPECT_THAT(Said(Numbers({1}), Numbers({0})), HasSubstr("made 1 Inf"));
}

TEST_F(NumericCheckTest, OpsThatAreLookedAt) {
  const Tensor zero = Numbers({0});
  SetNumericCheck({.action = NumericAction::kThrow, .except = {"divide"}});
  EXPECT_EQ(Said(zero, zero), "");
  SetNumericCheck({.action = NumericAction::kThrow, .only = {"add"}});
  EXPECT_EQ(Said(zero, zero), "");
  SetNumericCheck({.action = NumericAction::kThrow, .only = {"divide"}});
  EXPECT_NE(Said(zero, zero), "");
}

TEST_F(NumericCheckTest, AReportGoesOn) {
  SetNumericCheck({.action = NumericAction::kReport});
  CaptureStderr();
  EXPECT_EQ(Said(Numbers({0}), Numbers({0})), "");
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr("FLAGS_check_nan_inf: divide: made 1 NaN in out"));
}

}  // namespace
}  // namespace proa::inline v0
