#include "ops/report/report.h"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <mutex>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/print.h"
#include "tensor/shape.h"

namespace proa::inline v0 {
namespace {

constinit std::mutex sink_mutex;
constinit ReportSink current_sink = nullptr;

void WriteToStandardOutput(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

template <typename T>
std::string NumberText(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v ? "1" : "0";
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(static_cast<int64_t>(v));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return absl::StrFormat("%g%+gj", static_cast<double>(v.real()),
                           static_cast<double>(v.imag()));
  } else {
    return absl::StrFormat("%g", static_cast<double>(v));
  }
}

}  // namespace

void SetReportSink(ReportSink sink) {
  const std::lock_guard lock(sink_mutex);
  current_sink = sink;
}

void Report(std::string_view text) {
  ReportSink sink = nullptr;
  {
    const std::lock_guard lock(sink_mutex);
    sink = current_sink;
  }
  (sink == nullptr ? &WriteToStandardOutput : sink)(text);
}

std::string TensorTextHead(const Tensor& t, bool stop_gradient) {
  const std::string_view dtype = Name(t.dtype());
  return absl::StrCat("Tensor(shape=", ToString(t.shape()),
                      ", dtype=", absl::string_view(dtype.data(), dtype.size()),
                      ", place=Place(", ToString(t.place()),
                      "), stop_gradient=", stop_gradient ? "True" : "False",
                      ",\n", std::string(kTensorTextIndent, ' '));
}

std::string TensorText(const Tensor& t, bool stop_gradient) {
  return absl::StrCat(TensorTextHead(t, stop_gradient),
                      FormatElements(t, GetPrintOptions(), kTensorTextIndent),
                      ")");
}

std::string ElementsText(const Tensor& t, int64_t count) {
  const int64_t shown =
      count < 0 ? t.numel() : std::min<int64_t>(count, t.numel());
  const Tensor host = CopyTo(t, Place{});  // with all strides of its own
  std::string text = "[";
  VisitDType(host.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* data = static_cast<const T*>(host.raw_data());
    for (int64_t i = 0; i < shown; ++i) {
      absl::StrAppend(&text, i > 0 ? " " : "", NumberText(data[i]));
    }
  });
  return absl::StrCat(text, shown < t.numel() ? " ..." : "", "]");
}

}  // namespace proa::inline v0
