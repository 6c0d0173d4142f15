#include "jit/uses.h"

#include <algorithm>

namespace proa::inline v0::jit {

Uses::Uses(Program& program, std::span<const ValueId> outputs) {
  Grow(program.values().size());
  for (ValueId id : outputs) output_[id] = true;
  Add(program.block());
}

Block* Uses::block_of(const Operation& o) const {
  const auto at = blocks_.find(&o);
  return at == blocks_.end() ? nullptr : at->second;
}

void Uses::Grow(size_t values) {
  uses_.resize(values);
  makers_.resize(values, nullptr);
  output_.resize(values, false);
}

void Uses::Add(Block& block) {
  for (Operation& o : block.operations) Add(o, block);
  for (ValueId id : block.returns) uses_[id].push_back({nullptr, &block});
}

void Uses::Add(Operation& o, Block& block) {
  blocks_[&o] = &block;
  ForEachArgument(o, [&](const ValueRef& r) {
    if (r.id != kNoValue) uses_[r.id].push_back({&o, nullptr});
  });
  for (const auto& region : o.regions) Add(*region);
  ForEachResult(o, [&](ValueId id) { makers_[id] = &o; });
}

void Uses::Remove(const Operation& o) {
  ForEachArgument(o, [&](const ValueRef& r) {
    if (r.id == kNoValue) return;
    std::erase_if(uses_[r.id], [&](const Use& u) { return u.operation == &o; });
  });
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) Remove(inner);
    for (ValueId id : region->returns) {
      std::erase_if(uses_[id],
                    [&](const Use& u) { return u.region == region.get(); });
    }
  }
  ForEachResult(o, [&](ValueId id) {
    if (makers_[id] == &o) makers_[id] = nullptr;
  });
  blocks_.erase(&o);
}

}  // namespace proa::inline v0::jit
