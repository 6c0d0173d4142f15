#include "jit/prune.h"

#include <algorithm>

#include "jit/clone.h"
#include "jit/liveness.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

class Pruner {
 public:
  Pruner(const Module& module, Changes changes)
      : from_(*module.program),
        module_(module),
        liveness_(Analyze(from_, module.outputs, changes, module.inputs)),
        ids_(from_.values().size(), kNoValue) {}

  Module Run() {
    for (ValueId id : module_.inputs) Copy(id);
    for (size_t i = 0; i < ids_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      const ValueInfo& v = from_.value(id);
      if (!liveness_.live[i]) continue;
      if (v.kind == ValueKind::kCaptured) {
        ids_[i] = to_->Capture(v.captured, v.name);
      } else if (v.kind == ValueKind::kInput) {
        PROA_REQUIRE(ids_[i] != kNoValue, "an output depends on input '",
                     v.name, "', which is not among the inputs given");
      }
    }
    const auto& operations = from_.block().operations;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (liveness_.skip[i]) continue;
      to_->block().operations.push_back(
          CopyOperation(from_, operations[i], *to_, ids_));
    }
    Module out = module_;
    out.program = to_;
    for (ValueId& id : out.inputs) id = ids_[id];
    for (ValueId& id : out.outputs) id = ids_[id];
    return out;
  }

 private:
  void Copy(ValueId id) {
    if (ids_[id] == kNoValue) ids_[id] = to_->AddValue(from_.value(id));
  }

  const Program& from_;
  const Module& module_;
  const Liveness liveness_;
  std::vector<ValueId> ids_;  // old to new
  std::shared_ptr<Program> to_ = std::make_shared<Program>();
};

}  // namespace

Module Prune(const Module& module, Changes changes) {
  return Pruner(module, changes).Run();
}

}  // namespace proa::inline v0::jit
