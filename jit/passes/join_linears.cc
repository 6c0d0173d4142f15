// `join_linears`: linear layers of the same few rows as one.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "jit/recorder.h"
#include "ops/definition.h"
#include "ops/int_array.h"
#include "ops/value.h"
#include "tensor/file_memory.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

// A layer of few rows, as a decoder has them, reads its weight from memory and
// does little else. Queries, keys and values of the same rows are read at one
// go by one product with their weights side by side.
class Joiner {
 public:
  explicit Joiner(Rewriter& r) : r_(r), effects_(r.program()) {}

  void Note(Operation& o) {
    if (linear_ == nullptr || o.op != linear_ || !Suits(o)) return;
    const auto group = std::ranges::find_if(
        groups_,
        [&](const std::vector<Operation*>& g) { return IsLike(*g[0], o); });
    if (group != groups_.end()) {
      group->push_back(&o);
    } else {
      groups_.push_back({&o});
    }
  }

  void Finish() {
    if (concat_ == nullptr || split_ == nullptr) return;
    for (const std::vector<Operation*>& g : groups_) {
      if (g.size() > 1) Join(g);
    }
  }

 private:
  static constexpr int64_t kMostRows = 16;

  static ValueId Id(const Operation& o, size_t i) {
    return std::get<ValueRef>(o.args[i]).id;
  }
  const ValueInfo& Info(const Operation& o, size_t i) const {
    return r_.program().value(Id(o, i));
  }
  static bool HasBias(const Operation& o) { return Id(o, 2) != kNoValue; }

  // A parameter that only `o` reads. One in a file stays there.
  bool IsOwn(const Operation& o, size_t i) const {
    const ValueInfo& v = Info(o, i);
    return v.kind == ValueKind::kCaptured && !effects_.is_changed(Id(o, i)) &&
           r_.uses().of(Id(o, i)).size() == 1 &&
           !r_.uses().is_output(Id(o, i)) && v.captured.storage() &&
           !IsFileMemory(*v.captured.storage());
  }

  bool HasFewRows(const Shape& shape) const {
    int64_t rows = 1;
    for (int d = 0; d + 1 < shape.rank(); ++d) {
      if (IsUnknown(shape[d]) || shape[d] > kMostRows) return false;
      rows *= shape[d];
    }
    return rows <= kMostRows;
  }

  bool Suits(const Operation& o) const {
    const ValueId y = o.results[0][0];
    return Info(o, 0).meta.place.is_cpu() &&
           HasFewRows(Info(o, 0).meta.shape) && IsOwn(o, 1) &&
           (!HasBias(o) || IsOwn(o, 2)) && !effects_.is_changed(Id(o, 0)) &&
           !effects_.is_changed(y) && !r_.uses().is_output(y);
  }

  bool IsLike(const Operation& a, const Operation& b) const {
    return Id(a, 0) == Id(b, 0) && HasBias(a) == HasBias(b) &&
           r_.uses().block_of(a) == r_.uses().block_of(b) &&
           Info(a, 1).meta.dtype == Info(b, 1).meta.dtype &&
           (!HasBias(a) || Info(a, 2).meta.dtype == Info(b, 2).meta.dtype);
  }

  // The one result of an op for these arguments.
  static Value Call(const OpDefinition* op, std::vector<Value> args) {
    Value result;
    op->call(args, {&result, 1});
    return result;
  }

  void Join(const std::vector<Operation*>& group) {
    std::vector<Tensor> weights, biases;
    std::vector<int64_t> columns;
    const auto symbol = [&](const Operation& o, size_t i) {
      return MakeSymbolic(r_.shared_program(), Id(o, i));
    };
    for (const Operation* o : group) {
      weights.push_back(symbol(*o, 1));
      columns.push_back(Info(*o, 1).meta.shape[1]);
      if (HasBias(*o)) biases.push_back(symbol(*o, 2));
    }
    const int64_t last = Info(*group[0], 0).meta.shape.rank() - 1;
    std::vector<ValueId> made;
    r_.RecordBefore(*group[0], [&] {
      const Value weight = Call(concat_, {std::move(weights), int64_t{1}});
      const Value bias = biases.empty()
                             ? Value(Tensor())
                             : Call(concat_, {std::move(biases), int64_t{0}});
      const Value y = Call(linear_, {symbol(*group[0], 0), weight, bias});
      const Value parts = Call(split_, {y, IntArray(columns), last});
      for (const Tensor& part : std::get<std::vector<Tensor>>(parts)) {
        made.push_back(SymbolOf(part).id());
      }
    });
    for (size_t i = 0; i < group.size(); ++i) {
      r_.MakeAs(group[i]->results[0][0], made[i]);
      r_.Erase(*group[i]);
    }
  }

  Rewriter& r_;
  const Effects effects_;
  const OpDefinition* const linear_ = FindOp("linear");
  const OpDefinition* const concat_ = FindOp("concat");
  const OpDefinition* const split_ = FindOp("split");
  std::vector<std::vector<Operation*>> groups_;  // of the same rows
};

void Run(Rewriter& r) {
  Joiner joiner(r);
  r.ForEachOperation([&](Operation& o) { joiner.Note(o); });
  joiner.Finish();
}

const PassRegistration registration(
    {"join_linears",
     "Linear layers of the same few rows as one, whose weights stand side by "
     "side. For programs whose parameters stay as they are.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
