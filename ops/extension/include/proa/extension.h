// Operators of your own, in C++17, built outside of Proa by any compiler:
//
//   #include "proa/extension.h"
//   using namespace proa::extension;
//
//   std::vector<Tensor> Square(const Tensor& x) { return {x * x}; }
//   std::vector<Tensor> SquareGrad(const Tensor& x, const Tensor& grad_out) {
//     return {2.0 * x * grad_out};
//   }
//
//   PROA_OP(my_square).Inputs({"x"}).Outputs({"out"})
//       .SetKernelFn(PROA_KERNEL(Square));
//   PROA_GRAD_OP(my_square).Inputs({"x", Grad("out")}).Outputs({Grad("x")})
//       .SetKernelFn(PROA_KERNEL(SquareGrad));
//
// and in Python `proa.utils.cpp_extension.load("my_ops", ["my_ops.cc"])`. The
// guide is docs/custom_ops.md. Nothing here is compiled into Proa: these are
// wrappers over the C interface of "proa/extension_abi.h", which is what keeps
// a library that was built once working with later releases.
#ifndef PROA_EXTENSION_H_
#define PROA_EXTENSION_H_

#include "proa/extension/core.h"      // IWYU pragma: export
#include "proa/extension/dispatch.h"  // IWYU pragma: export
#include "proa/extension/op.h"        // IWYU pragma: export
#include "proa/extension/ops.h"       // IWYU pragma: export
#include "proa/extension/tensor.h"    // IWYU pragma: export

#endif  // PROA_EXTENSION_H_
