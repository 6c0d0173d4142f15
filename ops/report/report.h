// Texts that programs write while they run.
#ifndef PROA_OPS_REPORT_REPORT_H_
#define PROA_OPS_REPORT_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace proa::inline v0 {

// Where texts go: to standard output, unless somebody says where. Called from
// any thread, one call at a time. Null: standard output again.
using ReportSink = void (*)(std::string_view text);
void SetReportSink(ReportSink sink);
void Report(std::string_view text);

// A tensor with elements as Paddle writes it:
//   Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True,
//          [1., 2.])
std::string TensorText(const Tensor& t, bool stop_gradient);
// Its beginning, to where the elements stand, for tensors without.
std::string TensorTextHead(const Tensor& t, bool stop_gradient);
// The column of the elements, below the first character of those.
inline constexpr int kTensorTextIndent = 7;

// The first `count` elements, all if negative: "[1 2.5 3 ...]".
std::string ElementsText(const Tensor& t, int64_t count);

}  // namespace proa::inline v0

#endif  // PROA_OPS_REPORT_REPORT_H_
