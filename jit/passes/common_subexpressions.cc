#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/region_op.h"
#include "jit/text.h"

namespace proa::inline v0::jit {
namespace {

// The same call gives the same values: it draws nothing, changes nothing, and
// what it reads is not changed.
bool IsPure(const Operation& o, const Effects& effects) {
  if ((o.op->traits & (kTraitRandom | kTraitInplace)) != 0) return false;
  if (o.op->regions != nullptr) return false;
  bool pure = true;
  ForEachUse(o, [&](ValueId id) { pure &= !effects.is_changed(id); });
  return pure;
}

// The gradients of equal calls are added up where they meet: of one call before
// its formula, in the dtype of its result, where 16 bits would lose what
// several calls keep.
bool AddsGradientsIn16Bits(const Program& program, const Operation& o) {
  if ((o.op->traits & kTraitDifferentiable) == 0) return false;
  bool found = false;
  ForEachResult(o, [&](ValueId id) {
    const DType t = program.value(id).meta.dtype;
    found |= t == DType::kFloat16 || t == DType::kBFloat16;
  });
  return found;
}

// Operations of a block, and of the regions in it, which see those before.
class Merger {
 public:
  Merger(Rewriter& r, bool predicts)
      : r_(r), effects_(r.program()), predicts_(predicts) {}

  void Visit(Block& block) {
    std::vector<std::string> added;
    for (Operation& o : block.operations) {
      if (!HasFixedRegions(o)) {
        for (const auto& region : o.regions) Visit(*region);
      }
      if (!IsPure(o, effects_)) continue;
      if (!predicts_ && AddsGradientsIn16Bits(r_.program(), o)) continue;
      std::string key = CallText(o);
      const auto [at, is_new] = seen_.emplace(key, &o);
      if (is_new) {
        added.push_back(std::move(key));
      } else {
        Merge(o, *at->second);
      }
    }
    for (const std::string& key : added) seen_.erase(key);
  }

 private:
  void Merge(Operation& o, const Operation& first) {
    std::vector<std::pair<ValueId, ValueId>> pairs;
    for (size_t i = 0; i < o.results.size(); ++i) {
      if (o.results[i].size() != first.results[i].size()) return;
      for (size_t k = 0; k < o.results[i].size(); ++k) {
        pairs.emplace_back(o.results[i][k], first.results[i][k]);
      }
    }
    for (const auto& [from, to] : pairs) {
      if (r_.uses().is_output(from)) return;
    }
    for (const auto& [from, to] : pairs) r_.ReplaceUses(from, to);
    r_.Erase(o);
  }

  Rewriter& r_;
  const Effects effects_;
  const bool predicts_;  // nobody asks for gradients
  std::unordered_map<std::string, const Operation*> seen_;
};

template <bool kPredicts>
void Run(Rewriter& r) {
  Merger(r, kPredicts).Visit(r.program().block());
}

const PassRegistration registration({"common_subexpressions",
                                     "Makes equal calls once.", &Run<false>});

const PassRegistration of_predictions(
    {"equal_calls",
     "Makes equal calls once, those too whose gradients would be added in 16 "
     "bits. For programs that predict.",
     &Run<true>});

}  // namespace
}  // namespace proa::inline v0::jit
