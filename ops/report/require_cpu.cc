// Views of what may be used, on any device: the condition is read on the host.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "ops/report/report.h"
#include "ops/report/require_kernels.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/place.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kShown = 8;  // elements of a tensor

bool AllTrue(const Tensor& holds) {
  const bool here = holds.place().is_cpu() && holds.is_contiguous();
  const Tensor t = here ? holds : CopyTo(holds, Place{});
  const bool* v = t.data<bool>();
  return std::all_of(v, v + t.numel(), [](bool b) { return b; });
}

// A number as it is, a list as Python writes it.
std::string Shown(const Tensor& t) {
  const std::string text = ElementsText(t, kShown);
  if (t.rank() == 0) return text.substr(1, text.size() - 2);
  return absl::StrReplaceAll(text, {{" ", ", "}});
}

std::string Filled(std::string_view message, std::span<const Tensor> data) {
  std::string text;
  for (const Tensor& t : data) {
    const size_t at = message.find("{}");
    if (at == std::string_view::npos) break;
    text.append(message.substr(0, at)).append(Shown(t));
    message.remove_prefix(at + 2);
  }
  return text.append(message);
}

}  // namespace

void Require(const KernelContext&, const Tensor& x, const Tensor& holds,
             std::string_view message, std::span<const Tensor> data,
             Tensor* out) {
  if (!AllTrue(holds)) {
    Fail(absl::StatusCode::kInvalidArgument, Filled(message, data));
  }
  *out = x.AsStrided(x.shape(), x.strides(), 0);
}

}  // namespace proa::inline v0::ops::cpu
