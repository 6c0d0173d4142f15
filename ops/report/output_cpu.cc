#include <algorithm>
#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "ops/report/output_kernels.h"
#include "ops/report/report.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

absl::string_view Piece(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

void Print(const KernelContext&, const Tensor& x, const Tensor&,
           std::string_view before, std::string_view after,
           bool stop_gradient) {
  Report(
      absl::StrCat(Piece(before), TensorText(x, stop_gradient), Piece(after)));
}

void PrintDescribed(const KernelContext&, const Tensor& x, const Tensor&,
                    const Tensor& times, int64_t first_n, int64_t summarize,
                    std::string_view message, std::string_view name,
                    bool with_dtype, bool with_shape) {
  PROA_REQUIRE(times.dtype() == DType::kInt64 && times.numel() == 1,
               "print_described_: times must be one int64; it is ",
               Describe(times));
  // Runs of one program on several threads count together.
  std::atomic_ref<int64_t> count(*times.data<int64_t>());
  if (first_n >= 0 && count.load() >= first_n) return;
  if (count.fetch_add(1) >= first_n && first_n >= 0) return;
  std::string text;
  if (!name.empty()) absl::StrAppend(&text, "Variable: ", Piece(name), "\n");
  if (!message.empty()) {
    absl::StrAppend(&text, "  - message: ", Piece(message), "\n");
  }
  if (with_shape) {
    absl::StrAppend(&text, "  - shape: ", ToString(x.shape()), "\n");
  }
  if (with_dtype) {
    absl::StrAppend(&text, "  - dtype: ", Piece(Name(x.dtype())), "\n");
  }
  absl::StrAppend(&text, "  - data: ", ElementsText(x, summarize), "\n");
  Report(text);
}

void Assert(const KernelContext&, const Tensor& condition, const Tensor&,
            std::string_view message, std::span<const Tensor> data,
            int64_t summarize) {
  const bool* holds = condition.data<bool>();
  if (std::all_of(holds, holds + condition.numel(), [](bool b) { return b; })) {
    return;
  }
  std::string text = absl::StrCat(
      "assert_: ", message.empty() ? "not all elements of condition are true"
                                   : Piece(message));
  for (const Tensor& t : data) {
    absl::StrAppend(&text, "\n  ", Describe(t), " ",
                    ElementsText(t, summarize));
  }
  Fail(absl::StatusCode::kAborted, text);
}

}  // namespace proa::inline v0::ops::cpu
