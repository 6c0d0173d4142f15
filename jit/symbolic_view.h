// Views among the values of a program. Values never change, so an in-place
// change of a symbolic view is recorded as a new value of its root, with the
// part replaced, and the root's handle is rebound to it; other views of the
// root are recorded anew when they are next used:
//
//   v = b[0]         v: value of op `slice`, with the recipe "slice(root, ...)"
//   v.add_(1)        v: add(v, 1);  b: index_put(b, positions of v, v)
//   u = b[0:2]       made before: slice(b, ...), recorded again on first use
//
// The positions are what the recipe makes of the numbers 0, 1, 2, ... in the
// shape of the root: right for any view op, with unknown sizes too. Internal to
// the recorder.
#ifndef PROA_JIT_SYMBOLIC_VIEW_H_
#define PROA_JIT_SYMBOLIC_VIEW_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// A call of a view op; its viewed argument is what the step before gives.
struct ViewStep {
  const OpDefinition* op = nullptr;
  std::vector<Value> args;
  size_t output = 0;
  size_t item = 0;  // of a list
};

struct ViewRecipe {
  std::vector<ViewStep> steps;  // from the root on
  Shape root_shape;             // which the first step expects
  // The value of the root that the view shows; another one: the view is stale.
  std::shared_ptr<const TensorExtension> root_symbol;
  // It shows elements more than once, or the sizes do not tell: not to be
  // changed.
  bool repeats = false;
};

// Links `made`, what output number `output` of a recorded view op is.
void LinkSymbolicViews(const OpDefinition& op, std::span<const Value> args,
                       size_t output, std::span<const Tensor> made);
// Rebinds a stale view; nothing for any other symbolic tensor.
void RenewSymbolicView(const Tensor& t);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_SYMBOLIC_VIEW_H_
