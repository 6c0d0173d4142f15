// The front door of custom ops: the steps of docs/walk_of_an_op.md, boxed.
#include "ops/extension/custom_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/boxing.h"
#include "ops/front_door.h"
#include "ops/interpreter.h"
#include "ops/rethrow.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops {
namespace {

Value CheckedTensor(const char* op, const char* name, const CustomParam& p,
                    const Value& v) {
  if (p.optional) return UnboxOptionalTensor(op, name, v);
  const Tensor& t = UnboxTensor(op, name, v);
  RequireDefined(op, name, t);
  return t;
}

Value CheckedList(const char* op, const char* name, const CustomParam& p,
                  const Value& v) {
  if (p.optional && std::holds_alternative<std::monostate>(v)) return v;
  const std::span<const Tensor> ts = UnboxTensorList(op, name, v);
  RequireDefined(op, name, ts);
  return std::vector<Tensor>(ts.begin(), ts.end());
}

Value CheckedArgument(const char* op, const char* name, const CustomParam& p,
                      const Value& v) {
  switch (p.type) {
    case ParamType::kTensor:
      return CheckedTensor(op, name, p, v);
    case ParamType::kTensorList:
      return CheckedList(op, name, p, v);
    case ParamType::kBool:
      return UnboxBool(op, name, v);
    case ParamType::kInt:
      return UnboxInt(op, name, v);
    case ParamType::kFloat:
      return UnboxFloat(op, name, v);
    case ParamType::kString:
      return std::string(UnboxString(op, name, v));
    case ParamType::kIntList: {
      const auto list = UnboxIntList(op, name, v);
      return std::vector<int64_t>(list.begin(), list.end());
    }
    default: {
      const auto list = UnboxFloatList(op, name, v);
      return std::vector<double>(list.begin(), list.end());
    }
  }
}

Tensor Copy(const Tensor& t) { return t.defined() ? CopyTo(t, t.place()) : t; }

// What goes back to the caller.
void Store(const CustomOutput& o, std::vector<Tensor> tensors, Value& result) {
  if (o.is_list) {
    result = std::move(tensors);
  } else {
    result = tensors.empty() ? Tensor() : std::move(tensors[0]);
  }
}

// Results are new: values of programs share no memory unseen.
Tensor CopyIfShared(Tensor t, std::span<const Value> args) {
  bool shares = false;
  ForEachTensorOf(args, [&](const Tensor& arg) {
    shares |= t.defined() && arg.defined() &&
              (t.is_same(arg) ||
               (t.storage() != nullptr && t.storage() == arg.storage()));
  });
  return shares ? Copy(t) : t;
}

// What became of a tensor goes to the caller's, unless it is there already.
void Write(const char* op, const CustomOp::Target& target,
           const Tensor& value) {
  const Tensor& x = target.caller;
  CheckInplaceTarget(op, x, value.shape(), value.dtype());
  const bool there = value.storage() == x.storage() &&
                     value.raw_data() == x.raw_data() && x.is_contiguous();
  if (!there) WriteInto(x, value);
  MarkWritten(op, x);
}

}  // namespace

std::vector<Value> CustomOp::Checked(const char* op,
                                     std::span<const Value> args) const {
  CheckCount(op, params_.size(), args);
  std::vector<Value> out;
  out.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    out.push_back(
        CheckedArgument(op, params_[i].name, rules_.params[i], args[i]));
  }
  return out;
}

void CustomOp::Call(bool inplace, std::span<const Value> given,
                    std::span<Value> results) const {
  const char* const op = NameOf(inplace);
  std::vector<Value> args = Checked(op, given);
  CheckCount(op, args.size(), args, outputs_.size(), results);
  if (rules_.composite) {
    CustomResults made(outputs_.size());
    Run(args, made);
    for (size_t i = 0; i < results.size(); ++i) {
      Store(rules_.outputs[i], std::move(made[i]), results[i]);
    }
    return;
  }
  Interpreters flags = 0;
  ForEachTensorOf(args, [&](const Tensor& t) { flags |= t.flags(); });
  const Interpreters active = ActiveInterpreters(flags);
  if (inplace && (active & kRecord) != 0) {
    return CallInplaceRecorded(args, results);
  }
  const Interpreters boxed =
      inplace ? active & kProfile : active & ~kDifferentiate;
  const bool differentiate_next =
      (active & kDifferentiate) != 0 &&
      (inplace ? boxed == 0 : DifferentiateIsNext(active));
  if (differentiate_next) {
    const CustomOpDifferentiator differentiate =
        InstalledCustomOpDifferentiator();
    if (differentiate != nullptr &&
        (gradient_.op != nullptr || lacks_gradient())) {
      return differentiate(*this, inplace, args, results);
    }
    for (const CustomOutput& o : rules_.outputs) {
      if (!inplace || o.inplace < 0) continue;
      ForEachTensorIn(args[o.inplace],
                      [&](Tensor& t) { CheckMayChange(op, t.flags()); });
    }
    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);
    return Call(inplace, args, results);
  }
  if (boxed != 0) {
    return Interpret(boxed, inplace ? inplace_definition_ : definition_, args,
                     results);
  }
  Execute(inplace, std::move(args), results);
}

// Programs have the form that changes nothing; the handles are rebound.
void CustomOp::CallInplaceRecorded(std::span<const Value> args,
                                   std::span<Value> results) const {
  Call(false, args, results);
  for (size_t i = 0; i < results.size(); ++i) {
    const int from = rules_.outputs[i].inplace;
    if (from < 0) continue;
    if (const auto* x = std::get_if<Tensor>(&args[from])) {
      if (!x->defined()) continue;
      RecordWrite(NameOf(true), *x, std::get<Tensor>(results[i]));
    } else if (const auto* xs = std::get_if<std::vector<Tensor>>(&args[from])) {
      const auto& made = std::get<std::vector<Tensor>>(results[i]);
      for (size_t k = 0; k < xs->size(); ++k) {
        RecordWrite(NameOf(true), (*xs)[k], made[k]);
      }
    }
    results[i] = args[from];
  }
}

void CustomOp::Run(std::span<const Value> args, CustomResults& results) const {
  try {
    rules_.kernel(args, results);
  } catch (const Error& error) {
    RethrowFrom(rules_.name.c_str(), error);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const CustomOutput& o = rules_.outputs[i];
    if (o.inplace >= 0 && results[i].empty()) continue;
    PROA_REQUIRE(o.is_list || results[i].size() == 1 ||
                     (o.optional && results[i].empty()),
                 rules_.name, ": the kernel gave ", results[i].size(),
                 " tensors for output ", outputs_[i].name,
                 "; one was expected");
    for (const Tensor& t : results[i]) {
      PROA_REQUIRE(t.defined() || o.optional, rules_.name,
                   ": the kernel gave an undefined tensor for output ",
                   outputs_[i].name);
    }
  }
}

void CustomOp::Execute(bool inplace, std::vector<Value> args,
                       std::span<Value> results) const try {
  const char* const op = NameOf(inplace);
  Place place;
  bool found = false;
  ForEachTensorOf(args,
                  [&](const Tensor& t) { MergePlace(op, t, &place, &found); });
  if (RunsOnHost(place)) {
    return CallOnHost(inplace ? inplace_definition_ : definition_, place, args,
                      results);
  }
  const std::vector<Value> callers = args;
  const Targets targets = Prepare(inplace, place, args);
  CustomResults made(outputs_.size());
  {
    const InterpreterScope plain =
        InterpreterScope::Forbid(kAllInterpreters & ~kProfile);
    Run(args, made);
    CheckResults(args, made);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const int param = rules_.outputs[i].inplace;
    if (param < 0) {
      for (Tensor& t : made[i]) t = CopyIfShared(std::move(t), args);
    } else {
      const std::vector<Target>& given = targets[param];
      PROA_REQUIRE(made[i].empty() || made[i].size() == given.size(), op,
                   ": the kernel gave ", made[i].size(), " tensors for output ",
                   outputs_[i].name, ", which are ", given.size(),
                   " changed in place");
      if (inplace) {
        for (size_t k = 0; k < given.size(); ++k) {
          Write(op, given[k], made[i].empty() ? given[k].given : made[i][k]);
        }
        results[i] = callers[param];
        continue;
      }
      if (made[i].empty()) {
        for (const Target& t : given) made[i].push_back(t.given);
      }
    }
    Store(rules_.outputs[i], std::move(made[i]), results[i]);
  }
} catch (const Error& error) {
  RethrowFrom(NameOf(inplace), error);
}

// The arguments as the kernel gets them. What it may change is the caller's own
// memory in the in-place form where that is contiguous, else a copy.
CustomOp::Targets CustomOp::Prepare(bool inplace, Place place,
                                    std::vector<Value>& args) const {
  Targets targets(args.size());
  std::vector<bool> changed(args.size());
  for (const CustomOutput& o : rules_.outputs) {
    if (o.inplace >= 0) changed[o.inplace] = true;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    ForEachTensorIn(args[i], [&](Tensor& t) {
      if (!t.defined()) return;
      const Tensor caller = t;
      Tensor buffer;
      if (changed[i] && inplace) {
        CheckInplaceTarget(NameOf(inplace), t, t.shape(), t.dtype());
      }
      t = PrepareInput(t, t.dtype(), place, /*contiguous=*/true, &buffer);
      if (!changed[i]) return;
      if (!inplace && t.storage() == caller.storage()) t = Copy(t);
      // Another description, without what autograd hangs on it.
      t = t.Alias();
      targets[i].push_back({t, caller});
    });
  }
  // What the kernel reads must not change under its hands.
  for (size_t i = 0; inplace && i < args.size(); ++i) {
    if (changed[i]) continue;
    ForEachTensorIn(args[i], [&](Tensor& t) {
      const auto shares = [&](const Target& to) {
        return t.defined() && t.storage() != nullptr &&
               t.storage() == to.given.storage();
      };
      for (const std::vector<Target>& of_param : targets) {
        if (std::ranges::any_of(of_param, shares)) t = Copy(t);
      }
    });
  }
  return targets;
}

}  // namespace proa::inline v0::ops
