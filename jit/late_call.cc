#include "jit/late_call.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/recorder.h"
#include "ops/boxed_call.h"
#include "ops/interpreter.h"
#include "ops/symbolic_view.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {
namespace {

constinit LateCallGrad installed_grad = nullptr;

using Metas = std::vector<std::vector<TensorMeta>>;

// What stands for a late number while results are inferred. Numbers that an op
// refuses are left out, so that axes and sizes are found among them alike.
constexpr int64_t kNumbers[] = {1, 2, 3, 0, 5, 7, -1, -2};
// Axes above are not tried.
constexpr int kMostAxes = 8;
// Runs of inference for one call; each takes about a microsecond, a refused one
// ten.
constexpr size_t kMostRuns = 2500;

Value NumberFor(const ParamInfo& p, const Tensor& t, int64_t number) {
  switch (p.type) {
    case ParamType::kBool:
      return number > 1;
    case ParamType::kInt:
      return number;
    case ParamType::kFloat:
      return static_cast<double>(number);
    default:
      if (t.dtype() == DType::kBool) return Scalar(number > 1);
      if (IsInteger(t.dtype())) return Scalar(number);
      return Scalar(static_cast<double>(number));
  }
}

std::vector<Value> ListsFor(const OpDefinition& op, const ParamInfo& p,
                            const Tensor& t) {
  const int64_t n = t.rank() == 0 ? 1 : t.shape()[0];
  PROA_REQUIRE(!IsUnknown(n), op.name, ": how many numbers ", p.name,
               " has must be known when the program is recorded; it is ",
               Describe(t));
  std::vector<Value> out;
  if (p.type == ParamType::kFloatList) {
    for (const int64_t number : kNumbers) {
      out.emplace_back(std::vector<double>(n, static_cast<double>(number)));
    }
    return out;
  }
  std::vector<int64_t> known(n, kUnknownDim);
  if (const auto of = InstalledSymbolicViews().known_sizes) of(t, known);
  const auto add = [&](auto number_at) {
    std::vector<int64_t> list = known;
    for (int64_t i = 0; i < n; ++i) {
      if (IsUnknown(list[i])) list[i] = number_at(i);
    }
    out.emplace_back(std::move(list));
  };
  for (const int64_t number : kNumbers) {
    add([&](int64_t) { return number; });
  }
  if (n > 1) {                         // axes, each of them once
    for (int64_t k = 0; k < n; ++k) {  // each at each place
      add([&](int64_t i) { return (i + k) % n; });
    }
    add([&](int64_t i) { return n - 1 - i; });
    // Every choice of n among more.
    for (uint32_t set = 0; set < 1u << kMostAxes; ++set) {
      if (std::popcount(set) != n) continue;
      add([rest = set](int64_t) mutable {
        const int axis = std::countr_zero(rest);
        rest &= rest - 1;
        return static_cast<int64_t>(axis);
      });
    }
  }
  return out;
}

std::vector<Value> Candidates(const OpDefinition& op, const ParamInfo& p,
                              const Tensor& t) {
  CheckTensorAttribute(op.name, p, {t.shape(), t.dtype(), t.place()});
  if (p.type == ParamType::kIntList || p.type == ParamType::kFloatList) {
    return ListsFor(op, p, t);
  }
  std::vector<Value> out;
  for (const int64_t number : kNumbers) out.push_back(NumberFor(p, t, number));
  return out;
}

// Leaves what two runs agree on.
void Merge(const OpDefinition& op, const Metas& other, Metas* metas) {
  const char* what =
      " depends on a number that is a value of the program; give it as a "
      "number";
  for (size_t i = 0; i < metas->size(); ++i) {
    PROA_REQUIRE(other[i].size() == (*metas)[i].size(), op.name,
                 ": the number of tensors of ", op.outputs[i].name, what);
    for (size_t k = 0; k < other[i].size(); ++k) {
      TensorMeta& mine = (*metas)[i][k];
      const TensorMeta& its = other[i][k];
      PROA_REQUIRE(its.shape.rank() == mine.shape.rank(), op.name,
                   ": the number of dims of ", op.outputs[i].name, what);
      PROA_REQUIRE(its.dtype == mine.dtype, op.name, ": the dtype of ",
                   op.outputs[i].name, what);
      DimVector dims(mine.shape.dims().begin(), mine.shape.dims().end());
      for (int d = 0; d < mine.shape.rank(); ++d) {
        if (its.shape[d] != dims[d]) dims[d] = kUnknownDim;
      }
      mine.shape = Shape(dims);
    }
  }
}

Metas InferLate(const OpDefinition& op, std::span<const Value> args) {
  std::vector<Value> tried(args.begin(), args.end());
  std::vector<std::pair<size_t, std::vector<Value>>> late;
  size_t runs = 1;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!IsTensorAttribute(op.params[i], args[i])) continue;
    auto all = Candidates(op, op.params[i], std::get<Tensor>(args[i]));
    while (runs * all.size() > kMostRuns && all.size() > 2) all.pop_back();
    runs *= all.size();
    late.emplace_back(i, std::move(all));
  }
  std::optional<Metas> found;
  std::exception_ptr refused;
  for (size_t run = 0; run < runs; ++run) {
    size_t rest = run;
    for (const auto& [i, all] : late) {
      tried[i] = all[rest % all.size()];
      rest /= all.size();
    }
    Metas metas(op.outputs.size());
    try {
      op.infer(tried, metas);
    } catch (const Error&) {
      if (refused == nullptr) refused = std::current_exception();
      continue;
    }
    if (found) {
      Merge(op, metas, &*found);
    } else {
      found = std::move(metas);
    }
  }
  if (!found) std::rethrow_exception(refused);
  return *std::move(found);
}

// The interpreters before the recording one, as a front door runs them.
void CallLate(const OpDefinition& op, std::span<const Value> args,
              std::span<Value> results) {
  if (const Interpreters cast = ActiveInterpreters(0) & kAutocast; cast != 0) {
    return Interpret(cast, op, args, results);
  }
  const InterpreterScope recording = InterpreterScope::Allow(kRecord);
  RecordLateCall(op, args, results);
  if (installed_grad != nullptr && GradEnabled()) {
    installed_grad(op, args, results);
  }
}

const bool installed = [] {
  InstallLateRecorder(&CallLate);
  return true;
}();

}  // namespace

void InstallLateCallGrad(LateCallGrad grad) { installed_grad = grad; }

void RecordLateCall(const OpDefinition& op, std::span<const Value> args,
                    std::span<Value> results) {
  PROA_REQUIRE(
      op.infer != nullptr, op.name,
      ": a number that is a value of the program cannot be given here");
  RecordCall(op, args, InferLate(op, args), results);
}

}  // namespace proa::inline v0::jit
