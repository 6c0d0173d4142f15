// Collectives as early as what they read is there, with what makes that and is
// for nothing else (the joining of gradients): they then run beside what
// follows, as the exchange of gradients beside the rest of the backward pass.
//
// Collectives keep their order, since each changes the same tensor (`turn`):
// the ranks, which all run this program, meet as before.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"

namespace proa::inline v0::jit {
namespace {

bool IsPure(const Operation& o) {
  return o.op->regions == nullptr && (o.op->traits & kTraitRandom) == 0 &&
         !ChangesTensors(o);
}

// Collectives and the operations that are for them alone, each with the number
// of the first collective that it is for.
std::unordered_map<const Operation*, size_t> ForExchanges(Rewriter& r) {
  const std::vector<Operation>& all = r.program().block().operations;
  std::unordered_map<const Operation*, size_t> found;
  for (size_t i = all.size(); i-- > 0;) {
    const Operation& o = all[i];
    bool all_for_them = IsPure(o);
    size_t first = all.size();
    ForEachResult(o, [&](ValueId id) {
      for (const Use& u : r.uses().of(id)) {
        const auto user = found.find(u.operation);
        all_for_them &= user != found.end();
        if (user != found.end()) first = std::min(first, user->second);
      }
    });
    if (IsExchange(o)) {
      found[&o] = i;
    } else if (all_for_them && first < all.size()) {
      found[&o] = first;
    }
  }
  return found;
}

void Run(Rewriter& r) {
  const auto early = ForExchanges(r);
  if (early.empty()) return;
  const Effects effects(r.program());
  std::vector<const Operation*> order;
  for (const Operation& o : r.program().block().operations) {
    order.push_back(&o);
  }
  std::unordered_set<const Operation*> moved;
  for (size_t i = 0; i < order.size(); ++i) {
    const Operation* const o = order[i];
    if (!early.contains(o)) continue;
    // Not before what is for an earlier collective.
    const auto stays = [&](const Operation* before) {
      const auto found = early.find(before);
      return (found != early.end() && found->second <= early.at(o)) ||
             effects.depends(*o, *before);
    };
    size_t at = i;
    while (at > 0 && !stays(order[at - 1])) --at;
    if (at == i || at == 0) continue;
    moved.insert(o);
    const auto begin = order.begin();
    std::rotate(begin + static_cast<ptrdiff_t>(at),
                begin + static_cast<ptrdiff_t>(i),
                begin + static_cast<ptrdiff_t>(i) + 1);
  }
  // Those that stay are in their old order; the first is one of them.
  const Operation* stayed = nullptr;
  for (const Operation* o : order) {
    if (moved.contains(o)) {
      r.MoveBehind(*o, *stayed);
    } else {
      stayed = o;
    }
  }
}

const PassRegistration registration(
    {"early_exchange", "Puts collectives where what they read has been made.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
