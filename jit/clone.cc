#include "jit/clone.h"

#include <numeric>
#include <utility>

#include "jit/uses.h"

namespace proa::inline v0::jit {
namespace {

class Copier {
 public:
  Copier(const Program& from, Program& to, std::vector<ValueId>& ids)
      : from_(from), to_(to), ids_(ids) {}

  Operation Copy(const Operation& o) {
    Operation out;
    out.op = o.op;
    out.where = o.where;
    out.args = o.args;
    ForEachArgument(out, [&](ValueRef& r) {
      if (r.id != kNoValue) r.id = ids_[r.id];
    });
    for (const auto& region : o.regions) {
      out.regions.push_back(std::make_unique<Block>());
      Copy(*region, *out.regions.back());
    }
    for (const auto& made : o.results) out.results.push_back(Made(made));
    return out;
  }

  void Copy(const Block& from, Block& to) {
    to.arguments = Made(from.arguments);
    to.operations.reserve(from.operations.size());
    for (const Operation& o : from.operations) to.operations.push_back(Copy(o));
    for (ValueId id : from.returns) to.returns.push_back(ids_[id]);
  }

 private:
  std::vector<ValueId> Made(const std::vector<ValueId>& made) {
    std::vector<ValueId> out;
    for (ValueId id : made) {
      if (ids_[id] == kNoValue) ids_[id] = to_.AddValue(from_.value(id));
      out.push_back(ids_[id]);
    }
    return out;
  }

  const Program& from_;
  Program& to_;
  std::vector<ValueId>& ids_;
};

}  // namespace

Operation CopyOperation(const Program& from, const Operation& o, Program& to,
                        std::vector<ValueId>& ids) {
  return Copier(from, to, ids).Copy(o);
}

std::shared_ptr<Program> Clone(const Program& program) {
  auto out = std::make_shared<Program>();
  if (program.follows_gradients()) out->FollowGradients();
  std::vector<ValueId> ids(program.values().size());
  std::iota(ids.begin(), ids.end(), 0);
  for (const ValueInfo& v : program.values()) out->AddValue(v);
  Copier(program, *out, ids).Copy(program.block(), out->block());
  return out;
}

}  // namespace proa::inline v0::jit
