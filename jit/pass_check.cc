#include "jit/pass_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "jit/effects.h"
#include "jit/environment.h"
#include "jit/evaluate.h"
#include "jit/text.h"
#include "ops/elementwise/cast_ops.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

constexpr int64_t kOpenSize = 2;

bool IsSteady(const Block& block) {
  return std::ranges::all_of(block.operations, [](const Operation& o) {
    return (o.op->traits & kTraitRandom) == 0 && !ReachesOut(o) &&
           std::ranges::all_of(o.regions,
                               [](const auto& r) { return IsSteady(*r); });
  });
}

// The same for the same value of a program, however often it is asked for.
Tensor MadeUp(const ValueInfo& value, ValueId id) {
  Shape shape;
  for (const int64_t d : value.meta.shape) {
    shape.push_back(IsUnknown(d) ? kOpenSize : d);
  }
  const bool real = IsFloat(value.meta.dtype) || IsComplex(value.meta.dtype);
  const Tensor wide = Tensor::Empty(shape, DType::kFloat64);
  uint64_t state = 0x9e3779b97f4a7c15u * (static_cast<uint64_t>(id) + 1);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    wide.data<double>()[i] = real ? 2 * unit - 1 : unit < 0.5;
  }
  return ops::cast(wide, value.meta.dtype);
}

// Nothing if the program refuses the arguments.
std::vector<Tensor> ResultsOf(const Program& program,
                              std::span<const ValueId> outputs) {
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  const WithoutChanges unchanged;
  std::vector<Tensor> results;
  try {
    Environment env = MakeEnvironment(program);
    for (size_t i = 0; i < program.values().size(); ++i) {
      const ValueInfo& value = program.values()[i];
      if (value.kind == ValueKind::kInput) {
        env[static_cast<ValueId>(i)] = MadeUp(value, static_cast<ValueId>(i));
      }
    }
    Evaluate(program, program.block(), env);
    for (const ValueId id : outputs) {
      if (!env[id].defined()) return {};
      results.push_back(env[id]);
    }
  } catch (const Error&) {
    return {};
  }
  return results;
}

double ToleranceOf(DType t) {
  switch (t) {
    case DType::kFloat64:
    case DType::kComplex128:
      return 1e-9;
    case DType::kFloat16:
      return 1e-2;
    case DType::kBFloat16:
      return 5e-2;
    default:
      return IsFloat(t) || IsComplex(t) ? 1e-4 : 0;
  }
}

// In row-major order; of complex numbers the real parts, which show a mistake
// as well.
Tensor Doubles(const Tensor& t) {
  return Contiguous(ops::cast(t, DType::kFloat64));
}

// The first element that differs; -1 if none does. What is far from 0 in a
// tensor says how exact its elements are.
int64_t FirstDifference(const Tensor& a, const Tensor& b, double tolerance) {
  double largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double size = std::abs(a.data<double>()[i]);
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::abs(x - y) <= tolerance * largest)) return i;
  }
  return -1;
}

}  // namespace

PassCheck::PassCheck(const Program& program, std::span<const ValueId> outputs)
    : outputs_(outputs.begin(), outputs.end()) {
  if (IsSteady(program.block())) results_ = ResultsOf(program, outputs);
}

void PassCheck::Compare(const Program& program, std::string_view pass) const {
  if (!compares()) return;
  const std::vector<Tensor> now = ResultsOf(program, outputs_);
  const auto fail = [&](size_t i, const std::string& what) {
    Fail(absl::StatusCode::kInternal, "pass ", std::string(pass),
         " changes results: output %", outputs_[i], " ", what, "\n",
         ToText(program));
  };
  if (now.empty()) fail(0, "is not made any more");
  for (size_t i = 0; i < now.size(); ++i) {
    const Tensor &before = results_[i], &after = now[i];
    if (before.shape() != after.shape() || before.dtype() != after.dtype()) {
      fail(i, "was " + Describe(before) + " and is " + Describe(after));
    }
    const Tensor x = Doubles(before), y = Doubles(after);
    const int64_t at = FirstDifference(x, y, ToleranceOf(before.dtype()));
    if (at >= 0) {
      fail(i, "element " + std::to_string(at) + " was " +
                  std::to_string(x.data<double>()[at]) + " and is " +
                  std::to_string(y.data<double>()[at]));
    }
  }
}

}  // namespace proa::inline v0::jit
