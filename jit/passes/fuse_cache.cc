// `fuse_cache`: attention of a decoder reads its cache, and what is behind it,
// without joining them.
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "ops/definition.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {
namespace {

// A decoder joins its keys and values to those of the words before for one
// attention, which reads each once: it reads the parts instead. Where the
// joined ones go out as well, they are made anyway, and stay.
class Joiner {
 public:
  explicit Joiner(Rewriter& r) : r_(r), effects_(r.program()) {}

  void Visit(Operation& attention) {
    if (attention_ == nullptr || cached_ == nullptr || concat_ == nullptr ||
        attention.op != attention_) {
      return;
    }
    // query, key, value, mask, scale
    const auto keys = PartsOf(attention, 1), values = PartsOf(attention, 2);
    if (!keys.has_value() || !values.has_value()) return;
    const auto type = [&](ValueRef v) {
      return r_.program().value(v.id).meta.dtype;
    };
    const auto* query = std::get_if<ValueRef>(&attention.args[0]);
    // The op takes all of one type.
    if (query == nullptr || type(*query) != type(keys->parts[0]) ||
        type(*query) != type(values->parts[0])) {
      return;
    }
    Operation cached;
    cached.op = cached_;
    cached.where = attention.where;
    cached.args.push_back(attention.args[0]);
    for (const Parts* p : {&*keys, &*values}) {
      for (const ValueRef part : p->parts) {
        cached.args.emplace_back(
            p->order == nullptr ? part : Ordered(attention, part, *p->order));
      }
    }
    cached.args.push_back(attention.args[3]);
    cached.args.push_back(attention.args[4]);
    const ValueId old = attention.results[0][0];
    const ValueId made = r_.program().AddValue(
        ValueKind::kResult, TensorMeta(r_.program().value(old).meta));
    cached.results = {{made}};
    r_.InsertBefore(attention, std::move(cached));
    r_.MakeAs(old, made);
    r_.Erase(attention);
    for (const Parts* p : {&*values, &*keys}) {
      if (p->order != nullptr) r_.Erase(*p->order);
      r_.Erase(*p->join);
    }
  }

 private:
  struct Parts {
    const Operation* join = nullptr;
    const Operation* order = nullptr;  // a transpose behind it
    std::array<ValueRef, 2> parts;
  };

  // The operation that makes a value for `last` and nobody else.
  const Operation* Maker(ValueId id, const Operation& last) const {
    const Operation* const o = id == kNoValue ? nullptr : r_.uses().maker(id);
    if (o == nullptr || r_.uses().is_output(id) ||
        r_.uses().of(id).size() != 1 || r_.is_erased(*o) || r_.is_moved(*o) ||
        effects_.is_changed(id) ||
        r_.uses().block_of(*o) != r_.uses().block_of(last)) {
      return nullptr;
    }
    return o;
  }

  template <typename T>
  static const T* Attribute(const Operation& o, size_t i) {
    const auto* value = std::get_if<Value>(&o.args[i]);
    return value == nullptr ? nullptr : std::get_if<T>(value);
  }

  // Two tensors [N, rows, heads, columns] that an operand joins along the rows.
  std::optional<Parts> PartsOf(const Operation& attention, size_t i) const {
    const auto* ref = std::get_if<ValueRef>(&attention.args[i]);
    if (ref == nullptr) return std::nullopt;
    Parts found;
    found.join = Maker(ref->id, attention);
    int64_t rows = 1;
    if (found.join != nullptr && found.join->op == transpose_ &&
        transpose_ != nullptr) {
      const auto* order = Attribute<std::vector<int64_t>>(*found.join, 1);
      if (order == nullptr || order->size() != 4) return std::nullopt;
      rows = (*order)[1] < 0 ? (*order)[1] + 4 : (*order)[1];
      found.order = found.join;
      found.join = Maker(std::get<ValueRef>(found.join->args[0]).id, attention);
    }
    if (found.join == nullptr || found.join->op != concat_) return std::nullopt;
    const auto* parts =
        std::get_if<std::vector<ValueRef>>(&found.join->args[0]);
    const auto* axis = Attribute<int64_t>(*found.join, 1);
    if (parts == nullptr || parts->size() != 2 || axis == nullptr ||
        (*axis != rows && *axis != rows - 4)) {
      return std::nullopt;
    }
    for (size_t k = 0; k < 2; ++k) {
      const ValueInfo& v = r_.program().value((*parts)[k].id);
      // The op takes parts of one type.
      if (v.meta.shape.rank() != 4 || effects_.is_changed((*parts)[k].id) ||
          v.meta.dtype != r_.program().value(ref->id).meta.dtype) {
        return std::nullopt;
      }
      found.parts[k] = (*parts)[k];
    }
    return found;
  }

  // A part in the order of what was joined.
  ValueRef Ordered(const Operation& at, ValueRef part, const Operation& order) {
    Operation own;
    own.op = order.op;
    own.where = order.where;
    own.args = order.args;
    own.args[0] = part;
    TensorMeta meta = r_.program().value(part.id).meta;
    const Shape before = meta.shape;
    const auto& perm = *Attribute<std::vector<int64_t>>(order, 1);
    for (int i = 0; i < 4; ++i)
      meta.shape[i] = before[perm[i] < 0 ? perm[i] + 4 : perm[i]];
    const ValueId made =
        r_.program().AddValue(ValueKind::kResult, std::move(meta));
    own.results = {{made}};
    r_.InsertBefore(at, std::move(own));
    return {made};
  }

  Rewriter& r_;
  const Effects effects_;
  const OpDefinition* const attention_ = FindOp("attention");
  const OpDefinition* const cached_ = FindOp("attention_cached");
  const OpDefinition* const concat_ = FindOp("concat");
  const OpDefinition* const transpose_ = FindOp("transpose");
};

void Run(Rewriter& r) {
  Joiner joiner(r);
  r.ForEachOperation([&](Operation& o) { joiner.Visit(o); });
}

const PassRegistration registration(
    {"fuse_cache",
     "Attention that reads the keys and values of a decoder's cache and those "
     "behind them where they lie. For programs that predict: it has no "
     "gradient.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
