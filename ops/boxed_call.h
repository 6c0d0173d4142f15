// A call of an op in boxed form in which a tensor may stand for any number: for
// an attribute of type bool, int, float, Scalar, or a list of these, as an
// IntArray may be a tensor of sizes.
//
//   CallBoxed(op::Topk::definition, {x, k, int64_t{-1}, true, true}, results);
//
// A tensor with elements is read, and the op called with what they are. Of a
// value of a program nobody knows the elements before the program runs: the
// call is recorded with the value where the number would stand ("late", see
// jit/late_call.h), and read when the recorded operation is called, here again.
#ifndef PROA_OPS_BOXED_CALL_H_
#define PROA_OPS_BOXED_CALL_H_

#include <span>

#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

void CallBoxed(const OpDefinition& op, std::span<const Value> args,
               std::span<Value> results);

// Is the parameter a number, a truth value or a list of numbers, for which a
// tensor may stand? (Not a tensor, nor an IntArray, which holds one itself.)
bool MayBeLate(const ParamInfo& p);
// Whether the argument of such a parameter is a tensor.
inline bool IsTensorAttribute(const ParamInfo& p, const Value& v) {
  return std::holds_alternative<Tensor>(v) && MayBeLate(p);
}

// Throws TypeError unless a tensor of this shape and dtype may stand for `p`:
// one element, or [n] for a list; integers for integers.
void CheckTensorAttribute(const char* op, const ParamInfo& p,
                          const TensorMeta& t);

// While it lives, this thread calls `op` with `args`, of which the caller needs
// nothing any more that only they hold: results may be made in that memory.
class GivenScope {
 public:
  GivenScope(const OpDefinition& op, std::span<const Value> args);
  ~GivenScope();
  GivenScope(const GivenScope&) = delete;
  GivenScope& operator=(const GivenScope&) = delete;

 private:
  const OpDefinition* op_before_;
  std::span<const Value> args_before_;
};
// For front doors (`reuses` in a schema): whether `t`, an argument of the op of
// this name, is such a tensor, and its memory fits a result.
bool IsGiven(const char* op, const Tensor& t, const Shape& shape, DType dtype,
             Place place);

// By the room that records. Called with at least one attribute without
// elements.
using LateRecorder = void (*)(const OpDefinition& op,
                              std::span<const Value> args,
                              std::span<Value> results);
void InstallLateRecorder(LateRecorder record);

}  // namespace proa::inline v0

#endif  // PROA_OPS_BOXED_CALL_H_
