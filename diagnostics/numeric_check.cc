#include "diagnostics/numeric_check.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/call_site.h"
#include "ops/definition.h"
#include "ops/numeric_summary.h"
#include "ops/observers.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

NumericCheck current;

bool Contains(const std::vector<std::string>& names, const char* op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// A tensor of a call, under the name that messages have for it.
struct Part {
  std::string name;
  Tensor tensor;
  uint32_t version = 0;    // before the call
  NumericSummary summary;  // of an argument that the call may change, before it
};

void AddParts(const char* name, const Value& v, std::vector<Part>* parts) {
  const auto add = [&](std::string full_name, const Tensor& t) {
    if (!t.defined() || t.is_symbolic()) return;
    parts->push_back({std::move(full_name), t, t.version(), {}});
  };
  if (const auto* t = std::get_if<Tensor>(&v)) {
    add(name, *t);
  } else if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    for (size_t i = 0; i < ts->size(); ++i) {
      add(absl::StrCat(name, "[", i, "]"), (*ts)[i]);
    }
  }
}

std::vector<Part> Arguments(const ObservedCall& call) {
  std::vector<Part> parts;
  for (size_t i = 0; i < call.args.size(); ++i) {
    AddParts(call.op.params[i].name, call.args[i], &parts);
  }
  return parts;
}

std::vector<Part> Results(const ObservedCall& call) {
  std::vector<Part> parts;
  for (size_t i = 0; i < call.results.size(); ++i) {
    AddParts(call.op.outputs[i].name, call.results[i], &parts);
  }
  return parts;
}

// The program may say inf and nan itself.
bool SaysNonFinite(std::span<const Value> args) {
  const auto bad = [](double v) { return !std::isfinite(v); };
  for (const Value& v : args) {
    if (const auto* d = std::get_if<double>(&v); d != nullptr && bad(*d)) {
      return true;
    }
    if (const auto* s = std::get_if<Scalar>(&v);
        s != nullptr && s->is_float() && bad(s->to<double>())) {
      return true;
    }
    if (const auto* list = std::get_if<std::vector<double>>(&v);
        list != nullptr && std::any_of(list->begin(), list->end(), bad)) {
      return true;
    }
  }
  return false;
}

std::string Message(const ObservedCall& call, const Part& result,
                    const NumericSummary& made,
                    const std::vector<Part>& arguments) {
  std::string from;
  std::string lines;
  for (const Part& a : arguments) {
    if (a.summary.nan > 0)
      absl::StrAppend(&from, from.empty() ? "" : ", ", a.name);
    absl::StrAppend(&lines, "\n  ", a.name, ": ", Describe(a.tensor), "; ",
                    Describe(a.summary));
  }
  std::string text =
      made.nan > 0 && !from.empty()
          ? absl::StrCat(call.op.name, ": ", CountText(made), " in ",
                         result.name, " came in with ", from)
          : absl::StrCat(call.op.name, ": made ", CountText(made), " in ",
                         result.name);
  absl::StrAppend(&text, "\n  ", result.name, ": ", Describe(result.tensor),
                  "; ", Describe(made), lines);
  const std::string site = CallSite();
  if (!site.empty()) absl::StrAppend(&text, "\n  ", site);
  return text;
}

void Act(const std::string& message) {
  if (current.action == NumericAction::kThrow) {
    Fail(absl::StatusCode::kFailedPrecondition, message);
  }
  const std::string line = absl::StrCat("FLAGS_check_nan_inf: ", message, "\n");
  // One write, so that lines of several threads do not mix.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line.data(), line.size());
}

// `arguments` without a summary get one, unless the call changed them.
void CheckResult(const ObservedCall& call, const Part& result,
                 std::vector<Part>& arguments, bool summarized) {
  if (!HasNonFinite(result.tensor)) return;
  const NumericSummary made = Summarize(result.tensor);
  int64_t inf = 0;
  for (Part& a : arguments) {
    if (!summarized) a.summary = Summarize(a.tensor);
    inf += a.summary.inf;
  }
  if (made.nan == 0 && inf > 0) return;
  Act(Message(call, result, made, arguments));
}

void Check(ObservedCall& call) {
  const bool looked_at =
      !Contains(current.except, call.op.name) &&
      (current.only.empty() || Contains(current.only, call.op.name));
  if (!looked_at) return call.Proceed();
  std::vector<Part> arguments = Arguments(call);
  // A value made of numbers is what the program wanted.
  if ((arguments.empty() && (call.op.traits & kTraitRandom) == 0) ||
      SaysNonFinite(call.args)) {
    return call.Proceed();
  }
  const bool changes = (call.op.traits & kTraitInplace) != 0;
  if (changes) {
    for (Part& a : arguments) a.summary = Summarize(a.tensor);
  }
  call.Proceed();
  std::vector<Part> written = Results(call);
  for (const Part& a : arguments) {
    const auto same = [&](const Part& r) { return r.tensor.is_same(a.tensor); };
    if (changes && a.tensor.version() != a.version &&
        std::none_of(written.begin(), written.end(), same)) {
      written.push_back(a);
    }
  }
  for (const Part& result : written) {
    CheckResult(call, result, arguments, changes);
  }
}

const bool installed = [] {
  InstallObserver(Observer::kNumericCheck, &Check);
  return true;
}();

}  // namespace

void SetNumericCheck(NumericCheck check) {
  current = std::move(check);
  SetObserver(Observer::kNumericCheck, current.action != NumericAction::kOff);
}

const NumericCheck& GetNumericCheck() { return current; }

}  // namespace proa::inline v0
