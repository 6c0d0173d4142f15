#include <unordered_map>
#include <vector>

#include "jit/operation_call.h"
#include "jit/pass.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

// Larger results are made anew in each run rather than kept.
constexpr int64_t kMostBytes = 64 << 10;

// What operations give that depend on attributes alone. Where others need it,
// it becomes a captured tensor of the program's own.
class Folder {
 public:
  explicit Folder(Rewriter& r) : r_(r) {}

  void Visit(Operation& o) {
    if (!Depends(o) || o.results.size() != 1 || o.results[0].size() != 1) {
      return;
    }
    const ValueId id = o.results[0][0];
    if (!MayBeKept(id)) return;
    const TensorMeta meta = r_.program().value(id).meta;
    if (!meta.shape.known() ||
        meta.shape.numel() * ItemSize(meta.dtype) > kMostBytes) {
      return;
    }
    Environment env(r_.program().values().size());
    ForEachUse(o, [&](ValueId arg) { env[arg] = folded_.at(arg); });
    try {
      const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
      CallOperation(o, env);
    } catch (const Error&) {
      return;  // it fails when the program runs, with its text
    }
    folded_.emplace(id, std::move(env[id]));
    operations_.push_back(&o);
  }

  // From the last, so that what only folded operations used is used no more.
  void Finish() {
    for (size_t i = operations_.size(); i-- > 0;) {
      const ValueId id = operations_[i]->results[0][0];
      if (r_.uses().is_used(id)) r_.ReplaceUses(id, Capture(folded_.at(id)));
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
    if ((o.op->traits & kUnfit) != 0 || o.op->regions != nullptr) return false;
    bool folded = true;
    ForEachUse(o, [&](ValueId id) { folded &= folded_.contains(id); });
    return folded;
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
  std::unordered_map<ValueId, Tensor> folded_;
  std::vector<const Operation*> operations_;
};

void Run(Rewriter& r) {
  Folder folder(r);
  r.ForEachOperation([&](Operation& o) { folder.Visit(o); });
  folder.Finish();
}

const PassRegistration registration({"constant_folding",
                                     "Computes once, before the program runs, "
                                     "what depends on attributes alone.",
                                     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
