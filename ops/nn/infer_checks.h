// Checks that shape rules of neural network ops share.
#ifndef PROA_OPS_NN_INFER_CHECKS_H_
#define PROA_OPS_NN_INFER_CHECKS_H_

#include <cstdint>
#include <string>

#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// Kernels cast such a tensor to the type of x, which would drop its imaginary
// part.
inline void RequireReal(const char* op, const char* name, const Tensor& t) {
  if (t.defined() && IsComplex(t.dtype())) {
    ThrowTypeError(std::string(op) + ": " + name + " must be real; it is " +
                   Describe(t));
  }
}

inline void RequireVector(const char* op, const char* name, const Tensor& t,
                          int64_t size) {
  PROA_REQUIRE(!t.defined() || (t.rank() == 1 && !Differ(t.size(0), size)), op,
               ": ", name, " must be [", size, "]; it is ", Describe(t));
  RequireReal(op, name, t);
}

// Means and variances, in whose type more of them are made.
inline void RequireStatistics(const char* op, const char* name, const Tensor& t,
                              int64_t size) {
  RequireVector(op, name, t, size);
  if (!IsFloat(t.dtype())) {
    ThrowTypeError(std::string(op) + ": " + name + " must be floating; it is " +
                   Describe(t));
  }
}

// What is added to a result of the shape `out`.
inline void RequireResidual(const char* op, const Tensor& residual,
                            const Shape& out) {
  PROA_REQUIRE(!residual.defined() || ShapesFit(residual.shape(), out), op,
               ": residual must be ", ToString(out), "; it is ",
               Describe(residual));
  // Of a size that is open another may be repeated to it, as an embedding of
  // positions [1, C, H, W] is: then it is an addition, and no residual.
  for (int i = 0; residual.defined() && i < out.rank(); ++i) {
    PROA_REQUIRE(!IsUnknown(out[i]) || IsUnknown(residual.size(i)), op,
                 ": residual must be known to be ", ToString(out), "; it is ",
                 Describe(residual));
  }
  RequireReal(op, "residual", residual);
}

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_NN_INFER_CHECKS_H_
