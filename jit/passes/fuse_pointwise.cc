#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/passes/inferred_shapes.h"
#include "jit/pointwise.h"
#include "jit/region_op.h"

namespace proa::inline v0::jit {
namespace {

// So many that the values of a tile stay in the cache.
constexpr size_t kMostOperations = 64;

bool IsSmall(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) {
    if (IsUnknown(d)) return false;
    if (__builtin_mul_overflow(n, d, &n)) return false;
  }
  return n < kLeastTiledElements;
}

// Operations of one shape that may run where the last of them stands: nothing
// between them uses what they make or changes a tensor.
class Group {
 public:
  bool empty() const { return operations_.empty(); }
  bool Takes(const Shape& shape) const {
    return operations_.size() < kMostOperations && shape == shape_;
  }
  void Add(Operation& o, const Shape& shape) {
    shape_ = shape;
    for (ValueId id : o.results[0]) made_[id] = operations_.size();
    operations_.push_back(&o);
  }
  bool IsUsedBy(const Operation& o) const {
    bool used = false;
    ForEachUse(o, [&](ValueId id) { used |= made_.contains(id); });
    return used;
  }
  // Those that are linked by what they make; each in order.
  std::vector<std::vector<Operation*>> Chains() const {
    std::vector<size_t> root(operations_.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (size_t i = 0; i < operations_.size(); ++i) {
      ForEachUse(*operations_[i], [&](ValueId id) {
        if (const auto at = made_.find(id); at != made_.end()) {
          root[find(at->second)] = find(i);
        }
      });
    }
    std::unordered_map<size_t, size_t> numbers;
    std::vector<std::vector<Operation*>> chains;
    for (size_t i = 0; i < operations_.size(); ++i) {
      const auto [at, is_new] = numbers.emplace(find(i), chains.size());
      if (is_new) chains.emplace_back();
      chains[at->second].push_back(operations_[i]);
    }
    return chains;
  }

 private:
  Shape shape_;
  std::vector<Operation*> operations_;
  std::unordered_map<ValueId, size_t> made_;  // by the number of its maker
};

class Fuser {
 public:
  explicit Fuser(Rewriter& r) : r_(r) {}

  void Visit(Block& block) {
    Group group;
    std::vector<std::vector<Operation*>> chains;
    const auto close = [&] {
      for (auto& chain : group.Chains()) {
        if (chain.size() > 1) chains.push_back(std::move(chain));
      }
      group = Group();
    };
    for (Operation& o : block.operations) {
      if (!HasFixedRegions(o)) {
        for (const auto& region : o.regions) Visit(*region);
      }
      if (!IsPointwise(r_.program(), o)) {
        if (!group.empty() && (group.IsUsedBy(o) || ChangesTensors(o))) close();
        continue;
      }
      const Shape& shape = r_.program().value(o.results[0][0]).meta.shape;
      if (IsSmall(shape)) {
        if (!group.empty() && group.IsUsedBy(o)) close();
        continue;
      }
      if (!group.empty() && !group.Takes(shape)) close();
      group.Add(o, shape);
    }
    close();
    for (const auto& chain : chains) Fuse(chain);
  }

 private:
  // Is it used by others than the chain?
  bool LeavesChain(ValueId id, const std::unordered_set<const Operation*>& in) {
    if (r_.uses().is_output(id)) return true;
    for (const Use& use : r_.uses().of(id)) {
      if (use.operation == nullptr || !in.contains(use.operation)) return true;
    }
    return false;
  }

  void Fuse(const std::vector<Operation*>& chain) {
    Program& program = r_.program();
    const std::unordered_set<const Operation*> in(chain.begin(), chain.end());
    Operation fused;
    fused.op = &PointwiseOp();
    fused.where = chain.back()->where;
    auto body = std::make_unique<Block>();
    std::vector<ValueRef> inputs;
    std::vector<ValueId> results;
    std::unordered_map<ValueId, ValueId> inside;
    for (const Operation* o : chain) {
      Operation copy;
      copy.op = o->op;
      copy.where = o->where;
      for (const Argument& a : o->args) {
        const auto* ref = std::get_if<ValueRef>(&a);
        if (ref == nullptr) {
          copy.args.push_back(a);
          continue;
        }
        const auto [at, is_new] = inside.emplace(ref->id, kNoValue);
        if (is_new) {
          at->second =
              program.AddValue(ValueKind::kRegionArgument,
                               TensorMeta(program.value(ref->id).meta));
          body->arguments.push_back(at->second);
          inputs.push_back(*ref);
        }
        copy.args.emplace_back(ValueRef{at->second});
      }
      const ValueId made = o->results[0][0];
      const ValueId id = program.AddValue(ValueKind::kResult,
                                          TensorMeta(program.value(made).meta));
      inside[made] = id;
      copy.results = {{id}};
      body->operations.push_back(std::move(copy));
      if (LeavesChain(made, in)) {
        results.push_back(made);
        body->returns.push_back(id);
      }
    }
    fused.args.emplace_back(std::move(inputs));
    fused.results = {std::move(results)};
    fused.regions.push_back(std::move(body));
    r_.InsertBefore(*chain.back(), std::move(fused));
    for (const Operation* o : chain) r_.Erase(*o);
  }

  Rewriter& r_;
};

// Whether operations that work element by element and follow on one another
// have open sizes of other names: those of a program from a file, which are the
// same sizes for all that.
bool NamesDiffer(Rewriter& r) {
  const auto is_pointwise = [](const Operation* o) {
    return o != nullptr && o->op->fuse == FuseClass::kPointwise &&
           o->results.size() == 1 && o->results[0].size() == 1;
  };
  bool differ = false;
  r.ForEachOperation([&](Operation& o) {
    if (differ || !is_pointwise(&o)) return;
    const Program& program = r.program();
    const Shape& shape = program.value(o.results[0][0]).meta.shape;
    if (shape.known()) return;
    ForEachUse(o, [&](ValueId id) {
      const Shape& own = program.value(id).meta.shape;
      differ |= is_pointwise(r.uses().maker(id)) && !own.known() &&
                (own != shape || !own.identified());
    });
  });
  return differ;
}

void Run(Rewriter& r) {
  if (NamesDiffer(r)) InferShapes(r.program());
  Fuser(r).Visit(r.program().block());
}

const PassRegistration registration(
    {"fuse_pointwise",
     "Chains of operations that work element by element on large tensors, as "
     "one that reads and writes memory once.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
