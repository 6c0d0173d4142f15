#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/effects.h"
#include "jit/operation_call.h"
#include "jit/pass.h"
#include "tensor/error.h"
#include "tensor/file_memory.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

// Larger results are made anew in each run rather than kept.
constexpr int64_t kMostBytes = 64 << 10;

// Of what depends on parameters too.
enum class Known { kAttributes, kParameters };

// What operations give that depend on nothing but what is known before a run.
// Where others need it, it becomes a captured tensor of the program's own.
class Folder {
 public:
  Folder(Rewriter& r, Known known)
      : r_(r), known_(known), effects_(r.program()) {}

  void Visit(Operation& o) {
    if (!Depends(o)) return;
    int64_t bytes = 0;
    for (const auto& result : o.results) {
      if (result.size() != 1 || !MayBeKept(result[0])) return;
      const TensorMeta& meta = r_.program().value(result[0]).meta;
      if (!meta.shape.known()) return;
      bytes += meta.shape.numel() * ItemSize(meta.dtype);
    }
    Environment env(r_.program().values().size());
    int64_t known_bytes = 0;
    ForEachUse(o, [&](ValueId arg) {
      env[arg] = Value(arg);
      known_bytes += env[arg].bytes();
    });
    // Parameters may be made smaller before the program runs, but not larger:
    // who keeps weights of 16 bits means to save memory.
    if (bytes > std::max(kMostBytes, known_bytes)) return;
    try {
      const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
      CallOperation(o, env);
    } catch (const Error&) {
      return;  // it fails when the program runs, with its text
    }
    // What is folded is seldom read again.
    ForEachUse(o, [&](ValueId arg) {
      if (Value(arg).storage()) ForgetFilePages(*Value(arg).storage());
    });
    for (const auto& result : o.results) {
      folded_.emplace(result[0], std::move(env[result[0]]));
    }
    operations_.push_back(&o);
  }

  // From the last, so that what only folded operations used is used no more.
  void Finish() {
    for (size_t i = operations_.size(); i-- > 0;) {
      for (const auto& result : operations_[i]->results) {
        const ValueId id = result[0];
        if (r_.uses().is_used(id)) r_.ReplaceUses(id, Capture(folded_.at(id)));
      }
      r_.Erase(*operations_[i]);
    }
  }

 private:
  ValueId Capture(const Tensor& t) {
    ValueInfo info;
    info.kind = ValueKind::kCaptured;
    info.meta = {t.shape(), t.dtype(), t.place()};
    info.captured = t;
    return r_.program().AddValue(std::move(info));
  }

  bool Depends(const Operation& o) const {
    constexpr uint32_t kUnfit = kTraitRandom | kTraitInplace | kTraitView;
    if ((o.op->traits & kUnfit) != 0 || o.op->regions != nullptr ||
        ChangesTensors(o) || o.results.empty()) {
      return false;
    }
    bool known = true;
    ForEachUse(o, [&](ValueId id) { known &= IsKnown(id); });
    return known;
  }

  bool IsKnown(ValueId id) const {
    if (folded_.contains(id)) return true;
    return known_ == Known::kParameters &&
           r_.program().value(id).kind == ValueKind::kCaptured &&
           !effects_.is_changed(id);
  }

  const Tensor& Value(ValueId id) const {
    const auto folded = folded_.find(id);
    return folded != folded_.end() ? folded->second
                                   : r_.program().value(id).captured;
  }

  // The caller may change what he gets, so neither the constant nor a view of
  // it goes out.
  bool MayBeKept(ValueId id) const {
    if (r_.uses().is_output(id)) return false;
    for (const Use& u : r_.uses().of(id)) {
      if (u.operation == nullptr || !u.operation->regions.empty() ||
          (u.operation->op->traits & (kTraitView | kTraitInplace)) != 0) {
        return false;
      }
    }
    return true;
  }

  Rewriter& r_;
  const Known known_;
  const Effects effects_;
  std::unordered_map<ValueId, Tensor> folded_;
  std::vector<const Operation*> operations_;
};

void Fold(Rewriter& r, Known known) {
  Folder folder(r, known);
  r.ForEachOperation([&](Operation& o) { folder.Visit(o); });
  folder.Finish();
}

const PassRegistration attributes(
    {"constant_folding",
     "Computes once, before the program runs, what depends on attributes "
     "alone.",
     [](Rewriter& r) { Fold(r, Known::kAttributes); }});

const PassRegistration parameters(
    {"fold_parameters",
     "Computes once, before the program runs, what depends on parameters and "
     "attributes alone. For programs whose parameters stay as they are.",
     [](Rewriter& r) { Fold(r, Known::kParameters); }});

}  // namespace
}  // namespace proa::inline v0::jit
