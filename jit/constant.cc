#include "jit/constant.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/detach.h"
#include "jit/liveness.h"
#include "jit/operation_call.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "ops/int_array.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

// Of a program: which operations make some values, in the order of execution.
class Slice {
 public:
  explicit Slice(const Program& program) : program_(program) {}

  // False if one of them is changed by an operation, or made in a region that
  // is closed by now.
  bool Collect(ValueId id, const std::vector<const Block*>& blocks) {
    Need(id);
    for (size_t b = blocks.size(); b-- > 0;) {
      const auto& operations = blocks[b]->operations;
      for (size_t i = operations.size(); i-- > 0;) See(operations[i]);
    }
    for (ValueId w : written_) unfit_ |= captured_.contains(w);
    return missing_.empty() && !unfit_;
  }
  Tensor Run(ValueId id) const {
    Environment env(program_.values().size());
    for (ValueId captured : captured_) {
      env[captured] = program_.value(captured).captured;
    }
    for (size_t i = operations_.size(); i-- > 0;) {
      CallOperation(*operations_[i], env);
    }
    return env[id];
  }

 private:
  void Need(ValueId id) {
    if (program_.value(id).kind == ValueKind::kCaptured) {
      captured_.insert(id);
    } else {
      missing_.insert(id);
    }
  }

  void See(const Operation& o) {
    if (ChangesTensors(o)) {
      ForEachUse(o, [&](ValueId id) {
        if (program_.value(id).kind == ValueKind::kCaptured)
          written_.insert(id);
      });
    }
    bool wanted = false;
    for (const auto& ids : o.results) {
      for (ValueId id : ids) wanted |= missing_.erase(id) != 0;
    }
    if (!wanted) return;
    if (o.op->regions != nullptr) {
      unfit_ = true;
      return;
    }
    operations_.push_back(&o);
    ForEachUse(o, [&](ValueId id) { Need(id); });
  }

  const Program& program_;
  absl::flat_hash_set<ValueId> missing_, captured_, written_;
  std::vector<const Operation*> operations_;  // last first
  bool unfit_ = false;
};

// Of an argument: a tensor with elements counts unless it needs a gradient or
// has a name in the program, as the state of layers has.
bool IsConstantArgument(const Program& program, const Tensor& t) {
  if (!t.defined()) return true;
  if (t.is_symbolic()) return IsConstant(t);
  const ValueId id = program.FindCaptured(t);
  return (t.flags() & kDifferentiate) == 0 &&
         (id == kNoValue || program.value(id).name.empty());
}

bool IsConstantArgument(const Program& program, const Value& v) {
  if (const auto* t = std::get_if<Tensor>(&v)) {
    return IsConstantArgument(program, *t);
  }
  if (const auto* a = std::get_if<IntArray>(&v)) {
    return IsConstantArgument(program, a->tensor());
  }
  if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    for (const Tensor& t : *ts) {
      if (!IsConstantArgument(program, t)) return false;
    }
  }
  return true;
}

}  // namespace

bool IsConstant(const Tensor& t) {
  if (!t.defined() || !t.is_symbolic()) return false;
  if ((t.flags() & kDifferentiate) != 0) return false;
  const Symbol& symbol = SymbolOf(t);
  return symbol.program()->value(symbol.id()).constant;
}

bool GivesConstant(const Program& program, const OpDefinition& op,
                   std::span<const Value> args) {
  if ((op.traits & (kTraitRandom | kTraitInplace)) != 0) return false;
  if (&op == &DetachOp()) {  // the gradient alone may keep x from being one
    const Tensor& x = std::get<Tensor>(args[0]);
    return x.is_symbolic() && program.value(SymbolOf(x).id()).constant;
  }
  for (const Value& v : args) {
    if (!IsConstantArgument(program, v)) return false;
  }
  return true;
}

Tensor ElementsOfConstant(const Tensor& t) {
  if (!IsConstant(t)) return Tensor();
  const Symbol& symbol = SymbolOf(t);
  const std::shared_ptr<Program> program = symbol.program();
  Slice slice(*program);
  if (!slice.Collect(symbol.id(), VisibleBlocks(*program))) return Tensor();
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  return slice.Run(symbol.id());
}

}  // namespace proa::inline v0::jit
