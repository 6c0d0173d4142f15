// Def-use chains: which operation makes a value, and who uses it.
//
//   const Uses uses(program, outputs);
//   if (uses.of(id).size() == 1) ...
//
// A picture of the program at the time; a Rewriter (rewriter.h) keeps its own
// true while it changes the program.
#ifndef PROA_JIT_USES_H_
#define PROA_JIT_USES_H_

#include <span>
#include <vector>

#include "jit/program.h"

namespace proa::inline v0::jit {

// Calls f(ref) for each reference to a value among the arguments of `o`, None
// too; regions are not looked into.
template <typename O, typename F>
void ForEachArgument(O& o, const F& f) {
  for (auto& a : o.args) {
    if (auto* ref = std::get_if<ValueRef>(&a)) {
      f(*ref);
    } else if (auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      for (auto& r : *refs) f(r);
    }
  }
}

// Calls f(id) for each value that an operation makes.
template <typename F>
void ForEachResult(const Operation& o, const F& f) {
  for (const auto& ids : o.results) {
    for (ValueId id : ids) f(id);
  }
}

// Calls f(id) for each value that an operation reads, those of its regions
// included (values made inside of them too).
template <typename F>
void ForEachUse(const Operation& o, const F& f) {
  ForEachArgument(o, [&](const ValueRef& r) {
    if (r.id != kNoValue) f(r.id);
  });
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) ForEachUse(inner, f);
    for (ValueId id : region->returns) f(id);
  }
}

// One use: an argument of an operation, or what a region returns.
struct Use {
  Operation* operation = nullptr;
  Block* region = nullptr;
};

class Uses {
 public:
  Uses(Program& program, std::span<const ValueId> outputs);

  // A value used twice by an operation is listed twice.
  std::span<const Use> of(ValueId id) const { return uses_[id]; }
  // Outputs of the program are used by its caller.
  bool is_output(ValueId id) const { return output_[id]; }
  bool is_used(ValueId id) const { return output_[id] || !uses_[id].empty(); }
  // Null for inputs, captured tensors, arguments of regions, and values that
  // nothing makes.
  Operation* maker(ValueId id) const { return makers_[id]; }
  // The block that an operation stands in.
  Block* block_of(const Operation& o) const;

 private:
  friend class Rewriter;
  void Add(Block& block);
  void Add(Operation& o, Block& block);
  void Remove(const Operation& o);
  void Grow(size_t values);

  std::vector<std::vector<Use>> uses_;  // by value
  std::vector<Operation*> makers_;
  std::vector<bool> output_;
  std::unordered_map<const Operation*, Block*> blocks_;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_USES_H_
