#include <string_view>

#include "ops/numeric_summary.h"
#include "ops/reduction/numerics_kernels.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

[[noreturn]] void FailNonFinite(const Tensor& x, const NumericSummary& s,
                                std::string_view op_type,
                                std::string_view var_name) {
  const std::string_view name = var_name.empty() ? "x" : var_name;
  Fail(absl::StatusCode::kFailedPrecondition, "check_numerics: ", name,
       op_type.empty() ? "" : " of ", op_type, " has ", CountText(s),
       "; it is ", Describe(x), " with ", Describe(s));
}

}  // namespace

void CheckNumerics(const KernelContext&, const Tensor& x,
                   std::string_view op_type, std::string_view var_name,
                   bool abort, Tensor* stats, Tensor* values) {
  const NumericSummary s = Summarize(x);
  if (abort && !s.all_finite()) FailNonFinite(x, s, op_type, var_name);
  const int64_t counts[] = {s.nan, s.inf, s.zero};
  const double figures[] = {s.max, s.min, s.mean};
  for (int i = 0; i < 3; ++i) {
    stats->data<int64_t>()[i] = counts[i];
    values->data<float>()[i] = static_cast<float>(figures[i]);
  }
}

}  // namespace proa::inline v0::ops::cpu
