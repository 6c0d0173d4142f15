// Rules of ops that report (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_REPORT_REPORT_INFER_H_
#define PROA_OPS_REPORT_REPORT_INFER_H_

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// That of x; `holds` must be bool.
Shape required(const char* op, const Tensor& x, const Tensor& holds);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_REPORT_REPORT_INFER_H_
