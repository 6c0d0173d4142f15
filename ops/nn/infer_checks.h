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

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_NN_INFER_CHECKS_H_
