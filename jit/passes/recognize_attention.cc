#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/passes/inferred_shapes.h"
#include "jit/pattern.h"
#include "jit/recorder.h"
#include "ops/definition.h"
#include "ops/value.h"

namespace proa::inline v0::jit {
namespace {

// An op that programs may have, if it is linked in.
class Named {
 public:
  explicit Named(const char* name) : op_(FindOp(name)) {}
  bool made(const Operation* o) const {
    return op_ != nullptr && o != nullptr && o->op == op_;
  }
  // Its one result for these arguments; those behind them are the defaults.
  Tensor Call(std::vector<Value> args) const {
    for (size_t i = args.size(); i < op_->params.size(); ++i) {
      args.push_back(op_->params[i].type == ParamType::kTensor
                         ? Value(Tensor())
                         : op_->params[i].default_value());
    }
    Value result;
    op_->call(args, {&result, 1});
    return std::get<Tensor>(result);
  }
  bool linked() const { return op_ != nullptr; }

 private:
  const OpDefinition* op_;
};

struct Ops {
  const Named matmul{"matmul"}, softmax{"softmax"}, add{"add"},
      multiply{"multiply"}, divide{"divide"}, transpose{"transpose"},
      unsqueeze{"unsqueeze"}, squeeze{"squeeze"}, attention{"attention"},
      scale{"scale"};
};

// What is found: softmax(scale query key + mask) value.
struct Pieces {
  ValueId query, key, value;
  ValueId scores;  // as the product makes them
  ValueId mask = kNoValue;
  double scale = 1;
  bool key_is_transposed;              // [..., D, S]; else [..., S, D]
  std::vector<Operation*> operations;  // the last one first
};

class Finder {
 public:
  Finder(Rewriter& r, const Effects& effects, const Ops& ops)
      : r_(r),
        effects_(effects),
        ops_(ops),
        shapes_(InferredShapes(r.program())) {}

  // The pieces whose last is `product`.
  std::optional<Pieces> Find(Operation& product) {
    if (!ops_.matmul.made(&product) || Flag(product, 2) || Flag(product, 3)) {
      return std::nullopt;
    }
    Pieces p;
    p.operations = {&product};
    p.value = Input(product, 1);
    Operation* o = Maker(Input(product, 0), product);
    if (!ops_.softmax.made(o)) return std::nullopt;
    const int64_t rank = Sizes(p.value).rank();
    const int64_t axis = std::get<int64_t>(std::get<Value>(o->args[1]));
    if ((rank != 3 && rank != 4) || (axis != -1 && axis != rank - 1)) {
      return std::nullopt;
    }
    p.operations.push_back(o);
    o = Maker(Input(*o, 0), product);
    if (ops_.add.made(o)) {
      p.operations.push_back(o);
      // The scores are what a product made, or a product and its scale.
      Operation* const left = Maker(Input(*o, 0), product);
      const bool first = MakesScores(left, product);
      p.mask = Input(*o, first ? 1 : 0);
      o = first ? left : Maker(Input(*o, 1), product);
    }
    if (const auto scale = ScaleOf(o)) {
      p.operations.push_back(o);
      p.scale = scale->second;
      o = Maker(Input(*o, scale->first), product);
    }
    if (!ops_.matmul.made(o) || Flag(*o, 2)) return std::nullopt;
    p.operations.push_back(o);
    p.scores = o->results[0][0];
    p.query = WithoutScale(*o, 0, &p);
    p.key = WithoutScale(*o, 1, &p);
    p.key_is_transposed = !Flag(*o, 3);
    if (!Fit(p, rank)) return std::nullopt;
    return p;
  }

 private:
  static ValueId Input(const Operation& o, size_t i) {
    return std::get<ValueRef>(o.args[i]).id;
  }
  static bool Flag(const Operation& o, size_t i) {
    const auto* value = std::get_if<Value>(&o.args[i]);
    const auto* flag = value ? std::get_if<bool>(value) : nullptr;
    return flag == nullptr || *flag;
  }
  const Shape& Sizes(ValueId id) const {
    return static_cast<size_t>(id) < shapes_.size()
               ? shapes_[id]
               : r_.program().value(id).meta.shape;
  }

  // The operation that makes a value for `last` and for no other; null if it
  // may not be replaced.
  Operation* Maker(ValueId id, const Operation& last) const {
    Operation* const o = id == kNoValue ? nullptr : r_.uses().maker(id);
    if (o == nullptr || r_.uses().is_output(id) ||
        r_.uses().of(id).size() != 1 || r_.is_erased(*o) || r_.is_moved(*o) ||
        r_.uses().block_of(*o) != r_.uses().block_of(last)) {
      return nullptr;
    }
    return o;
  }

  bool MakesScores(Operation* o, const Operation& last) const {
    if (const auto scale = ScaleOf(o)) {
      o = Maker(Input(*o, scale->first), last);
    }
    return ops_.matmul.made(o);
  }

  // Which argument is multiplied with a number, and the number.
  std::optional<std::pair<size_t, double>> ScaleOf(const Operation* o) const {
    if (ops_.scale.made(o)) {
      const auto number = NumberOf(r_.program(), effects_, o->args[1]);
      const auto shift = NumberOf(r_.program(), effects_, o->args[2]);
      if (!number.has_value() || shift != 0.0) return std::nullopt;
      return std::pair(size_t{0}, *number);
    }
    const bool divides = ops_.divide.made(o);
    if (!divides && !ops_.multiply.made(o)) return std::nullopt;
    for (size_t i = 0; i < (divides ? 1 : 2); ++i) {
      const auto number =
          NumberOf(r_.program(), effects_, o->args[divides ? 1 : 1 - i]);
      const ValueId id = Input(*o, divides ? 1 : 1 - i);
      if (!number.has_value() || Sizes(id).rank() > 1) continue;
      const double scale = divides ? 1 / *number : *number;
      if (std::isfinite(scale)) return std::pair(i, scale);
    }
    return std::nullopt;
  }

  // An operand of the product of scores; a number that it was multiplied with
  // is part of the scale.
  ValueId WithoutScale(const Operation& product, size_t i, Pieces* p) const {
    const ValueId id = Input(product, i);
    Operation* const o = Maker(id, product);
    const auto scale = ScaleOf(o);
    if (!scale.has_value()) return id;
    p->operations.push_back(o);
    p->scale *= scale->second;
    return Input(*o, scale->first);
  }

  // Products broadcast, attention does not: the first sizes are the same ones,
  // or known to be the same in every run.
  bool Fit(const Pieces& p, int64_t rank) const {
    for (const ValueId id : {p.query, p.key}) {
      if (Sizes(id).rank() != rank) return false;
      for (int64_t i = 0; i + 2 < rank; ++i) {
        const int64_t a = Sizes(id)[i];
        if (a != Sizes(p.value)[i] || a == kUnknownDim) return false;
      }
    }
    const DType dtype = r_.program().value(p.query).meta.dtype;
    for (const ValueId id : {p.query, p.key, p.value, p.mask}) {
      if (id == kNoValue) continue;
      const ValueInfo& v = r_.program().value(id);
      if (v.meta.dtype != dtype || effects_.is_changed(id)) return false;
    }
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
    for (const Operation* o : p.operations) {
      const ValueId id = o->results[0][0];
      if (r_.program().value(id).meta.dtype != dtype ||
          effects_.is_changed(id)) {
        return false;
      }
    }
    return p.mask == kNoValue || MaskFits(p, rank);
  }

  // What is added may not make scores larger than they are. (A size of the
  // mask and one of the scores that are not known are taken to fit: masks are
  // inputs of their own. One that is larger is an error of attention.)
  bool MaskFits(const Pieces& p, int64_t rank) const {
    const Shape& mask = Sizes(p.mask);
    if (mask.rank() > rank) return false;
    for (int64_t i = 1; i <= mask.rank(); ++i) {
      const int64_t m = mask[mask.rank() - i], s = Sizes(p.scores)[rank - i];
      if (m == 1) continue;
      if (IsUnknown(m) != IsUnknown(s) || (!IsUnknown(m) && m != s)) {
        return false;
      }
    }
    return true;
  }

  Rewriter& r_;
  const Effects& effects_;
  const Ops& ops_;
  const std::vector<Shape> shapes_;  // when the pass began
};

// Puts attention in place of the pieces.
void Replace(Rewriter& r, const Ops& ops, const Pieces& p) {
  const auto value_of = [&](ValueId id) {
    return id == kNoValue ? Tensor() : MakeSymbolic(r.shared_program(), id);
  };
  // A value in another order: what it was put in order from, if that is it.
  const auto ordered = [&](ValueId id, std::vector<int64_t> perm) {
    const Operation* const o = r.uses().maker(id);
    if (ops.transpose.made(o)) {
      const auto& before =
          std::get<std::vector<int64_t>>(std::get<Value>(o->args[1]));
      bool same = before.size() == perm.size();
      for (size_t i = 0; same && i < perm.size(); ++i) {
        same = before[perm[i]] == static_cast<int64_t>(i);
      }
      if (same) return value_of(std::get<ValueRef>(o->args[0]).id);
    }
    return ops.transpose.Call({value_of(id), std::move(perm)});
  };
  ValueId made = kNoValue;
  const bool has_heads = r.program().value(p.value).meta.shape.rank() == 4;
  r.RecordBefore(*p.operations[0], [&] {
    const auto rows_first = [&](ValueId id, bool transposed = false) {
      if (has_heads && transposed) return ordered(id, {0, 3, 1, 2});
      if (has_heads) return ordered(id, {0, 2, 1, 3});
      const Tensor rows = transposed ? ordered(id, {0, 2, 1}) : value_of(id);
      return ops.unsqueeze.Call({rows, std::vector<int64_t>{2}});
    };
    Tensor mask = value_of(p.mask);
    if (!has_heads && mask.defined() && mask.shape().rank() == 3) {
      mask = ops.unsqueeze.Call({mask, std::vector<int64_t>{1}});
    }
    const Tensor out = ops.attention.Call(
        {rows_first(p.query), rows_first(p.key, p.key_is_transposed),
         rows_first(p.value), mask, p.scale});
    const Tensor y =
        has_heads ? ops.transpose.Call({out, std::vector<int64_t>{0, 2, 1, 3}})
                  : ops.squeeze.Call({out, std::vector<int64_t>{2}});
    made = SymbolOf(y).id();
  });
  r.MakeAs(p.operations[0]->results[0][0], made);
  for (const Operation* o : p.operations) r.Erase(*o);
}

void Run(Rewriter& r) {
  const Ops ops;
  if (!ops.attention.linked()) return;
  const Effects effects(r.program());
  Finder finder(r, effects, ops);
  r.ForEachOperation([&](Operation& o) {
    if (const auto found = finder.Find(o)) Replace(r, ops, *found);
  });
}

const PassRegistration registration(
    {"recognize_attention",
     "Products, softmax between them, a number and a mask, as one attention.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
