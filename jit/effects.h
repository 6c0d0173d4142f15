// What operations change, and which values share memory.
//
// Values never change, but captured tensors do: ops that work in place
// (`store_`, `sgd_`) change the tensor that a value names, and with it all
// views of it. A pass that moves, merges or drops an operation asks here.
#ifndef PROA_JIT_EFFECTS_H_
#define PROA_JIT_EFFECTS_H_

#include <unordered_map>
#include <vector>

#include "jit/program.h"
#include "jit/uses.h"

namespace proa::inline v0::jit {

// Does the operation, or one in its regions, change captured tensors?
bool ChangesTensors(const Operation& o);

// Does it change `turn`, as ops do that must keep their order?
bool TakesTurn(const Operation& o);

// Is it a collective with results: does it take a turn and give something?
bool IsExchange(const Operation& o);

// Does it, or one in its regions, do something besides what it gives and
// changes: print, assert, send? Such ops change a tensor, `turn`, so that they
// keep their order, and give nothing; programs for inference need them too.
bool ReachesOut(const Operation& o);

// Calls f(id) for what an operation that changes tensors changes; of regions,
// what the operations in them change.
template <typename F>
void ForEachChanged(const Operation& o, const F& f) {
  for (size_t i = 0; i < o.args.size() && (o.op->changes >> i) != 0; ++i) {
    if ((o.op->changes >> i & 1) == 0) continue;
    if (const auto* ref = std::get_if<ValueRef>(&o.args[i])) {
      if (ref->id != kNoValue) f(ref->id);
    } else if (const auto* refs =
                   std::get_if<std::vector<ValueRef>>(&o.args[i])) {
      for (ValueRef r : *refs) f(r.id);
    }
  }
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) ForEachChanged(inner, f);
  }
}

class Effects {
 public:
  explicit Effects(const Program& program);

  // Values of equal numbers may share memory; others do not. What a region
  // takes or gives may share memory with anything: kAnything.
  int memory_of(ValueId id) const {
    return id < static_cast<ValueId>(memory_.size()) ? memory_[id] : kAnything;
  }
  static constexpr int kAnything = 0;

  // Does some operation of the program change the memory of this value?
  bool is_changed(ValueId id) const;
  // May `o` change the memory of `id`?
  bool changes(const Operation& o, ValueId id) const;
  // May `o` read or change memory that `writer` changes, or use what it makes?
  bool depends(const Operation& o, const Operation& writer) const;
  // May `value` stand where `copy`, an equal value of its own, is used? Not if
  // it is changed later, nor if it belongs to the caller (an input, a captured
  // tensor) and views of it could go out.
  bool may_stand_for(ValueId value, ValueId copy, const Uses& uses) const;

 private:
  void Visit(const Block& block);
  bool Overlap(int a, int b) const {
    return a == b || a == kAnything || b == kAnything;
  }

  std::vector<int> memory_;    // by value
  std::vector<bool> changed_;  // by memory
  std::vector<bool> outer_;    // by memory: of inputs and captured tensors
  std::unordered_map<const Storage*, int> storages_;
  int next_ = kAnything + 1;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_EFFECTS_H_
