#include "diagnostics/call_log.h"

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
using ::testing::StartsWith;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class CallLogTest : public ::testing::Test {
 protected:
  void TearDown() override { SetCallLog(false); }
};

TEST_F(CallLogTest, ALineForACallAndNoneWhenOff) {
  const Tensor x = Tensor::Empty({2, 3}, DType::kFloat32);
  CaptureStderr();
  ops::add(x, x);
  SetCallLog(true);
  ops::add(x, Tensor::Empty({3}, DType::kFloat32));
  SetCallLog(false);
  ops::add(x, x);
  const std::string text = GetCapturedStderr();
  EXPECT_THAT(text, StartsWith("[op "));
  EXPECT_THAT(text, HasSubstr("add(x=[2, 3] float32, y=[3] float32) -> "
                              "[2, 3] float32 | execute | "));
  EXPECT_THAT(text, HasSubstr(" us"));
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
}

TEST_F(CallLogTest, ACallThatFailsIsSaidToHaveFailed) {
  SetCallLog(true);
  CaptureStderr();
  EXPECT_THROW(ops::add(Tensor::Empty({2}, DType::kFloat32),
                        Tensor::Empty({3}, DType::kFloat32)),
               Error);
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr("add(x=[2] float32, y=[3] float32) -> failed | "));
}

}  // namespace
}  // namespace proa::inline v0
