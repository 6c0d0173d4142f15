#include "jit/rewriter.h"

#include <algorithm>
#include <utility>

#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "jit/region_op.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {

void Rewriter::ForEachOperation(const std::function<void(Operation&)>& f) {
  Visit(program_->block(), f);
}

void Rewriter::Visit(Block& block, const std::function<void(Operation&)>& f) {
  for (Operation& o : block.operations) {
    if (is_erased(o)) continue;
    if (!HasFixedRegions(o)) {
      for (const auto& region : o.regions) Visit(*region, f);
    }
    if (!is_erased(o)) f(o);
  }
}

size_t Rewriter::index_of(const Operation& o) const {
  return static_cast<size_t>(&o - uses_.block_of(o)->operations.data());
}

Operation& Rewriter::InsertBefore(const Operation& at, Operation o) {
  changed_ = true;
  auto& list = before_[&at];
  list.push_back(std::make_unique<Operation>(std::move(o)));
  uses_.Grow(program_->values().size());
  uses_.Add(*list.back(), *uses_.block_of(at));
  moved_.insert(list.back().get());
  return *list.back();
}

void Rewriter::RecordBefore(const Operation& at,
                            const std::function<void()>& f) {
  std::unique_ptr<Block> made;
  {
    const InterpreterScope records = InterpreterScope::Allow(kRecord);
    const InterpreterScope only =
        InterpreterScope::Forbid(kAllInterpreters & ~kRecord);
    const StaticModeScope recording(program_);
    RegionScope region(program_, /*lent=*/true);
    f();
    made = region.Finish({});
  }
  for (Operation& o : made->operations) {
    o.where = at.where;
    InsertBefore(at, std::move(o));
  }
}

void Rewriter::Erase(const Operation& o) {
  changed_ = true;
  uses_.Remove(o);
  erased_.insert(&o);
}

void Rewriter::ReplaceUses(ValueId from, ValueId to) {
  PROA_REQUIRE(!uses_.is_output(from), "Rewriter: %", from,
               " is an output of the program and keeps its number");
  if (from == to) return;
  uses_.Grow(program_->values().size());
  std::vector<Use> uses = std::exchange(uses_.uses_[from], {});
  changed_ |= !uses.empty();
  for (const Use& u : uses) {
    if (u.operation != nullptr) {
      ForEachArgument(*u.operation, [&](ValueRef& r) {
        if (r.id == from) r.id = to;
      });
    } else {
      std::ranges::replace(u.region->returns, from, to);
    }
    uses_.uses_[to].push_back(u);
  }
}

void Rewriter::MakeAs(ValueId from, ValueId to) {
  uses_.Grow(program_->values().size());
  Operation* maker = uses_.maker(to);
  PROA_REQUIRE(maker != nullptr, "Rewriter: nothing makes %", to);
  for (auto& ids : maker->results) std::ranges::replace(ids, to, from);
  uses_.makers_[to] = nullptr;
  uses_.makers_[from] = maker;
  if (uses_.is_used(to)) ReplaceUses(to, from);
  changed_ = true;
}

void Rewriter::MoveBehind(const Operation& o, const Operation& at) {
  changed_ = true;
  moved_.insert(&o);
  behind_[&at].push_back(const_cast<Operation*>(&o));
}

void Rewriter::Rebuild(Block& block) {
  std::vector<Operation> now;
  now.reserve(block.operations.size());
  const std::function<void(Operation&)> put = [&](Operation& o) {
    if (const auto found = before_.find(&o); found != before_.end()) {
      for (auto& inserted : found->second) put(*inserted);
    }
    const auto behind = behind_.find(&o);
    if (!is_erased(o)) {
      for (const auto& region : o.regions) Rebuild(*region);
      now.push_back(std::move(o));
    }
    if (behind != behind_.end()) {
      for (Operation* moved : behind->second) put(*moved);
    }
  };
  for (Operation& o : block.operations) {
    if (!moved_.contains(&o)) put(o);
  }
  block.operations = std::move(now);
}

bool Rewriter::Commit() {
  if (changed_) Rebuild(program_->block());
  return changed_;
}

}  // namespace proa::inline v0::jit
