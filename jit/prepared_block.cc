#include "jit/prepared_block.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "jit/effects.h"
#include "jit/uses.h"
#include "ops/boxed_call.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

// Arguments and results of a region are seen by its own operations alone, and
// by the regions in it.
ReleasePlan ReleasesOfRegion(const Block& region) {
  std::unordered_map<ValueId, size_t> last;  // the operation that reads it last
  for (ValueId id : region.arguments) last[id] = 0;
  for (size_t i = 0; i < region.operations.size(); ++i) {
    const Operation& o = region.operations[i];
    ForEachUse(o, [&](ValueId id) {
      if (const auto found = last.find(id); found != last.end())
        found->second = i;
    });
    ForEachResult(o, [&](ValueId id) { last[id] = i; });
  }
  for (ValueId id : region.returns) last.erase(id);
  ReleasePlan plan(region.operations.size());
  for (const auto& [id, i] : last) {
    if (i < plan.size()) plan[i].push_back(id);
  }
  return plan;
}

// What a region keeps of its values after its operations is what it returns:
// nothing that a loop need hold while the next turn runs.
void AddReturns(const Block& region, PreparedBlock* out) {
  std::unordered_set<ValueId> own(region.arguments.begin(),
                                  region.arguments.end());
  for (const Operation& o : region.operations) {
    ForEachResult(o, [&](ValueId id) { own.insert(id); });
  }
  out->gives_away.assign(region.returns.size(), false);
  for (size_t i = region.returns.size(); i-- > 0;) {
    out->gives_away[i] = own.erase(region.returns[i]) > 0;
  }
  if (!region.operations.empty()) return;  // they are released by the first
  for (ValueId id : region.arguments) {
    if (own.contains(id)) out->unread.push_back(id);
  }
}

size_t CountValues(const Block& block) {
  size_t n = 0;
  for (const Operation& o : block.operations) {
    if (o.op->regions == nullptr) n += o.args.size() + o.results.size();
  }
  return n;
}

// Does operation `i` exchange something that the next one does not ask for?
bool IsForLater(const Block& block, size_t i) {
  const Operation& o = block.operations[i];
  if (i + 1 == block.operations.size() || !IsExchange(o)) return false;
  bool asked = false;
  ForEachUse(block.operations[i + 1], [&](ValueId used) {
    ForEachResult(o, [&](ValueId made) { asked |= used == made; });
  });
  return !asked;
}

class Builder {
 public:
  Builder(const Program& program, const Block& block, PreparedBlock* out)
      : program_(program), out_(*out) {
    out_.steps.reserve(block.operations.size());
    out_.values.reserve(CountValues(block));  // they are pointed at
  }

  void Add(const Operation& o, std::span<const ValueId> released) {
    ending_.clear();
    for (ValueId id : released) {
      if (program_.value(id).kind != ValueKind::kCaptured) ending_.insert(id);
    }
    PreparedBlock::Step step;
    step.operation = &o;
    if (o.op->regions == nullptr) AddCall(o, &step);
    step.releases.begin = Size(out_.releases);
    out_.releases.insert(out_.releases.end(), ending_.begin(), ending_.end());
    step.releases.end = Size(out_.releases);
    out_.steps.push_back(step);
  }

 private:
  template <typename T>
  static uint32_t Size(const std::vector<T>& v) {
    return static_cast<uint32_t>(v.size());
  }

  void AddCall(const Operation& o, PreparedBlock::Step* step) {
    step->args.begin = Size(out_.values);
    step->takes.begin = Size(out_.takes);
    for (size_t i = 0; i < o.args.size(); ++i) {
      AddArgument(o.args[i]);
      const auto* ref = std::get_if<ValueRef>(&o.args[i]);
      step->late |=
          ref != nullptr && ref->id != kNoValue && MayBeLate(o.op->params[i]);
    }
    step->args.end = step->results.begin = Size(out_.values);
    step->takes.end = Size(out_.takes);
    // The last time that the call itself takes it.
    for (uint32_t t = step->takes.end; t-- > step->takes.begin;) {
      out_.takes[t].last = ending_.erase(out_.takes[t].id) > 0;
    }
    step->gives.begin = Size(out_.gives);
    for (size_t k = 0; k < o.results.size(); ++k) {
      Value* value = &out_.values.emplace_back();
      if (o.op->outputs[k].is_list) {
        out_.gives.push_back({value, kNoValue, static_cast<int32_t>(k)});
      } else {
        out_.gives.push_back({value, o.results[k][0]});
      }
    }
    step->results.end = Size(out_.values);
    step->gives.end = Size(out_.gives);
  }

  // Into `values`, where the tensors are yet to come.
  void AddArgument(const Argument& a) {
    if (const auto* ref = std::get_if<ValueRef>(&a)) {
      if (ref->id == kNoValue) {
        out_.values.emplace_back();
        return;
      }
      Value& value = out_.values.emplace_back(Tensor());
      out_.takes.push_back({std::get_if<Tensor>(&value), ref->id});
    } else if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      Value& value =
          out_.values.emplace_back(std::vector<Tensor>(refs->size()));
      auto& list = std::get<std::vector<Tensor>>(value);
      for (size_t e = 0; e < refs->size(); ++e) {
        if ((*refs)[e].id != kNoValue) {
          out_.takes.push_back({&list[e], (*refs)[e].id});
        }
      }
    } else {
      out_.values.push_back(std::get<Value>(a));
    }
  }

  const Program& program_;
  PreparedBlock& out_;
  std::unordered_set<ValueId> ending_;
};

}  // namespace

PreparedBlock Prepare(const Program& program, const Block& block,
                      const ReleasePlan* release) {
  ReleasePlan own;
  if (&block != &program.block()) {
    own = ReleasesOfRegion(block);
    release = &own;
  }
  PreparedBlock out;
  Builder builder(program, block, &out);
  for (size_t i = 0; i < block.operations.size(); ++i) {
    builder.Add(block.operations[i], release == nullptr
                                         ? std::span<const ValueId>()
                                         : (*release)[i]);
    out.steps.back().beside = IsForLater(block, i);
  }
  if (&block != &program.block()) AddReturns(block, &out);
  return out;
}

}  // namespace proa::inline v0::jit
