// What the files of custom ops share.
#ifndef PROA_OPS_EXTENSION_CUSTOM_CALL_H_
#define PROA_OPS_EXTENSION_CUSTOM_CALL_H_

#include "ops/extension/custom_op.h"

namespace proa::inline v0::ops {

// Null while nothing differentiates.
CustomOpDifferentiator InstalledCustomOpDifferentiator();

// Calls f(t) for each tensor among boxed arguments, undefined ones too.
template <typename F>
void ForEachTensorOf(std::span<const Value> args, const F& f) {
  for (const Value& v : args) {
    if (const auto* t = std::get_if<Tensor>(&v)) f(*t);
    if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
      for (const Tensor& t : *ts) f(t);
    }
  }
}
// The same; `f` may change them.
template <typename F>
void ForEachTensorIn(Value& v, const F& f) {
  if (auto* t = std::get_if<Tensor>(&v)) f(*t);
  if (auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    for (Tensor& t : *ts) f(t);
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_EXTENSION_CUSTOM_CALL_H_
