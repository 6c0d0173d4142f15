#include "jit/symbolic_view.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "jit/recorder.h"
#include "ops/boxed_call.h"
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/indexing/index_ops.h"
#include "ops/int_array.h"
#include "ops/interpreter.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/scan_ops.h"
#include "ops/symbolic_view.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/scalar.h"

namespace proa::inline v0::jit {
namespace {

const Symbol& OwnSymbol(const Tensor& t) {
  return static_cast<const Symbol&>(*t.impl()->symbol);
}

Tensor Reshaped(const Tensor& t, const Shape& shape) {
  return t.shape() == shape ? t : ops::reshape(t, IntArray(shape));
}

Tensor Flat(const Tensor& t) { return ops::reshape(t, IntArray({-1})); }

IntArray ShapeOf(const Tensor& t) {
  return t.shape().known() ? IntArray(t.shape()) : IntArray(ops::shape(t));
}

// `t` in the shape of `like`, as far as that is known.
Tensor InShapeOf(const Tensor& like, const Tensor& t) {
  const Shape& shape = like.shape();
  const auto unknown = std::ranges::count_if(shape, IsUnknown);
  const bool empty = std::ranges::count(shape, 0) != 0;
  if (unknown == 0 || (unknown == 1 && !empty)) {
    return ops::reshape(t, IntArray(shape));
  }
  return ops::reshape(t, IntArray(ops::shape(like)));
}

// What the recipe makes of another tensor than the root.
Tensor Follow(const ViewRecipe& recipe, const Tensor& from) {
  Tensor t = Reshaped(from, recipe.root_shape);
  for (const ViewStep& step : recipe.steps) {
    std::vector<Value> args = step.args;
    args[step.op->outputs[step.output].aliases] = t;
    std::vector<Value> results(step.op->outputs.size());
    CallBoxed(*step.op, args, results);
    Value& v = results[step.output];
    const auto* list = std::get_if<std::vector<Tensor>>(&v);
    t = list != nullptr ? (*list)[step.item] : std::get<Tensor>(v);
  }
  return t;
}

// False if a size that is not known decides.
bool SameNumel(const Tensor& a, const Tensor& b) {
  return a.shape().known() && b.shape().known() && a.numel() == b.numel();
}

// 0, 1, 2, ... in the shape of `t`.
Tensor Numbered(const Tensor& t) {
  const Tensor ones =
      ops::full(ShapeOf(t), Scalar(int64_t{1}), DType::kInt64, t.place());
  const Tensor count = ops::cumsum(Flat(ones), 0);
  return InShapeOf(t, ops::subtract(count, Flat(ones)));
}

// Rebinds to a value that is no view of anything, whatever op it comes from.
void RebindRoot(const Tensor& root, const Tensor& value) {
  Rebind(root, value);
  const Symbol& symbol = OwnSymbol(root);
  root.impl()->root = nullptr;
  root.impl()->symbol =
      std::make_shared<const Symbol>(symbol.program(), symbol.id());
}

void Write(const char* op, const Tensor& x, const Tensor& value) {
  const Tensor root(x.impl()->root);
  const std::shared_ptr<const ViewRecipe> recipe = SymbolOf(x).view();
  if (recipe == nullptr || !root.defined()) {
    // reshape_: the value is a view of x, which cannot be its own root.
    if (value.impl()->root.get() == x.impl()) return RebindRoot(x, value);
    return Rebind(x, value);
  }
  PROA_REQUIRE(
      root.is_symbolic(), op,
      ": cannot record an in-place change where x is a view of a tensor from "
      "outside of the program; x is ",
      Describe(x), ", the tensor is ", Describe(root),
      "; change a copy (clone)");
  PROA_REQUIRE(value.dtype() == root.dtype(), op,
               ": cannot change a view of another dtype while a program is "
               "recorded; x is ",
               Describe(x), ", it is a view of ", Describe(root));
  PROA_REQUIRE(!recipe->repeats, op,
               ": cannot change x in place; its elements by broadcasting are "
               "(or for some "
               "sizes would be) one and the same; x is ",
               Describe(x), ", a view of ", Describe(root),
               "; change a copy (clone)");
  if (value.impl()->root == x.impl()->root)
    return Rebind(x, value);  // a reshape
  const Tensor positions[] = {Flat(Follow(*recipe, Numbered(root)))};
  const int64_t axes[] = {0};
  const Tensor written =
      ops::index_put(Flat(root), positions, Flat(value), axes, -1, false);
  const Shape shape = root.shape();
  RebindRoot(root, InShapeOf(root, written));
  root.impl()->shape = shape;  // of several unknown sizes reshape knows less
  root.impl()->view_flags |= root.impl()->flags & kDifferentiate;
  // `x` has the value already, and stays a view.
  Rebind(x, value);
  auto now = std::make_shared<ViewRecipe>(*recipe);
  now->root_symbol = root.impl()->symbol;
  const Symbol& symbol = OwnSymbol(x);
  x.impl()->symbol = std::make_shared<const Symbol>(
      symbol.program(), symbol.id(), std::move(now));
  x.impl()->root = IntrusivePtr<TensorImpl>::Share(root.impl());
}

void KnownSizes(const Tensor& sizes, std::span<int64_t> out) {
  const Symbol& s = SymbolOf(sizes);
  const std::vector<int64_t>& known = s.program()->value(s.id()).sizes;
  if (known.size() == out.size()) std::ranges::copy(known, out.begin());
}

const bool installed = [] {
  InstallSymbolicViews({.write = &Write,
                        .renew = &RenewSymbolicView,
                        .known_sizes = &KnownSizes});
  return true;
}();

}  // namespace

void LinkSymbolicViews(const OpDefinition& op, std::span<const Value> args,
                       size_t output, std::span<const Tensor> made) {
  const int8_t aliased = op.outputs[output].aliases;
  const auto* base = std::get_if<Tensor>(&args[aliased]);
  if (base == nullptr || !base->defined()) return;
  TensorImpl* root =
      base->impl()->root ? base->impl()->root.get() : base->impl();
  // An alias of a view (a detached one) has the symbol of the view but no root:
  // it is a root itself.
  const std::shared_ptr<const ViewRecipe> before =
      base->is_symbolic() && base->impl()->root ? OwnSymbol(*base).view()
                                                : nullptr;
  for (size_t i = 0; i < made.size(); ++i) {
    auto recipe = std::make_shared<ViewRecipe>();
    if (before != nullptr) {
      *recipe = *before;
    } else {
      recipe->root_shape = root->shape;
      recipe->root_symbol = root->symbol;
    }
    recipe->repeats = recipe->repeats || (op.fuse == FuseClass::kBroadcast &&
                                          !SameNumel(*base, made[i]));
    recipe->steps.push_back({&op, {args.begin(), args.end()}, output, i});
    recipe->steps.back().args[aliased] = Tensor();
    const Symbol& symbol = OwnSymbol(made[i]);
    made[i].impl()->symbol = std::make_shared<const Symbol>(
        symbol.program(), symbol.id(), std::move(recipe));
    made[i].impl()->root = IntrusivePtr<TensorImpl>::Share(root);
  }
}

void RenewSymbolicView(const Tensor& t) {
  if (!t.impl()->root || !t.is_symbolic()) return;
  const std::shared_ptr<const ViewRecipe> recipe = OwnSymbol(t).view();
  const Tensor root(t.impl()->root);
  if (recipe == nullptr || recipe->root_symbol == root.impl()->symbol) return;
  // Called while an op is recorded, or a node made: as if outside of both.
  const InterpreterScope scope =
      InterpreterScope::Allow(kRecord | kDifferentiate);
  Rebind(t, Follow(*recipe, root));
}

}  // namespace proa::inline v0::jit
