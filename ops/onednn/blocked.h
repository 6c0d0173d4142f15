// Tensors in a oneDNN format: Layout::kBlocked. A convolution that is handed
// one, in the format it computes in, reorders nothing; whoever does not know
// the format gets a strided copy from Contiguous(), as the front doors do for
// every kernel.
//
//   Tensor b = ToFormat(x, {{n, c, h, w}, f32, tag::nChw16c});
//   Tensor y = ops::relu(b);   // strided: its kernel does not know formats
//
// The storage may hold more elements than the shape has (channels are padded to
// whole blocks, with zeros). Such a tensor is never written in place and has no
// views.
#ifndef PROA_OPS_ONEDNN_BLOCKED_H_
#define PROA_OPS_ONEDNN_BLOCKED_H_

#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/tensor.h"

namespace proa::inline v0::onednn {

inline bool IsBlocked(const Tensor& t) {
  return t.layout() == Layout::kBlocked;
}

// Uninitialized, for a kernel that writes all of it. `format` has the dims of
// `shape`.
Tensor EmptyInFormat(const Shape& shape, DType dtype,
                     const dnnl::memory::desc& format);

// The elements of the CPU tensor `x` in `format`; `x` itself if it is in it
// already.
Tensor ToFormat(const Tensor& x, const dnnl::memory::desc& format);

// The format that a CPU tensor of any layout but kRowSparse is in.
dnnl::memory::desc FormatOf(const Tensor& t);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_BLOCKED_H_
