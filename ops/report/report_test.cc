#include "ops/report/report.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ops/report/output_ops.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

std::string* written = nullptr;

class ReportTest : public testing::Test {
 protected:
  ReportTest() {
    written = &text_;
    SetReportSink([](std::string_view text) { *written += text; });
  }
  ~ReportTest() override { SetReportSink(nullptr); }

  template <typename T>
  static Tensor Of(DType dtype, std::initializer_list<T> values) {
    Tensor t = Tensor::Empty({static_cast<int64_t>(values.size())}, dtype);
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }

  const Tensor turn_ = Of<int64_t>(DType::kInt64, {0});
  std::string text_;
};

TEST_F(ReportTest, PrintsATensorBetweenTexts) {
  ops::print_(Of<float>(DType::kFloat32, {1, 2.5}), turn_, "x ", "!\n", false);
  EXPECT_EQ(text_,
            "x Tensor(shape=[2], dtype=float32, place=Place(cpu), "
            "stop_gradient=False,\n       [1. , 2.5])!\n");
}

TEST_F(ReportTest, GoesToStandardOutputWithoutASink) {
  SetReportSink(nullptr);
  testing::internal::CaptureStdout();
  ops::print_(Of<float>(DType::kFloat32, {}), turn_, "nothing: ", "", true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "nothing: Tensor(shape=[0], dtype=float32, place=Place(cpu), "
            "stop_gradient=True,\n       [])");
  EXPECT_EQ(text_, "");
}

TEST_F(ReportTest, DescribesSoOftenAsAsked) {
  const Tensor times = Of<int64_t>(DType::kInt64, {0});
  const Tensor x = Of<int64_t>(DType::kInt64, {1, 1234567890, 3});
  for (int i = 0; i < 3; ++i) {
    ops::print_described_(x, turn_, times, 2, 2, "sum", "v", true, false);
  }
  const std::string once =
      "Variable: v\n  - message: sum\n  - dtype: int64\n  - data: [1 "
      "1234567890 ...]\n";
  EXPECT_EQ(text_, once + once);
  ops::print_described_(Of<bool>(DType::kBool, {true, false}), turn_, times, -1,
                        -1, "", "", false, true);
  EXPECT_EQ(text_, once + once + "  - shape: [2]\n  - data: [1 0]\n");
}

TEST_F(ReportTest, AnAssertionThatFailsSaysWhat) {
  ops::assert_(Of<bool>(DType::kBool, {true, true}), turn_, "never");
  ops::assert_(Of<bool>(DType::kBool, {}), turn_, "never");
  const Tensor data[] = {Of<double>(DType::kFloat64, {0.5, 2, 3})};
  try {
    ops::assert_(Of<bool>(DType::kBool, {true, false}), turn_, "too large",
                 data, 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kAborted);
    EXPECT_EQ(std::string(e.what()),
              "assert_: too large\n  [3] float64 [0.5 2 ...]");
  }
  EXPECT_THROW(ops::assert_(Of<float>(DType::kFloat32, {1}), turn_), Error);
}

}  // namespace
}  // namespace proa::inline v0
