// Rules of Fourier transforms (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_FFT_FFT_INFER_H_
#define PROA_OPS_FFT_FFT_INFER_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// The shape of x, after checking the axes, their sizes, and the normalization.
Shape fft(const char* op, const Tensor& x, std::span<const int64_t> axes,
          std::string_view normalization);
// n / 2 + 1 along the last axis.
Shape fft_half(const char* op, const Tensor& x, std::span<const int64_t> axes,
               std::string_view normalization);
// The size in `signal`, or 2 * (m - 1), along the last axis.
Shape fft_signal(const char* op, const Tensor& x, std::span<const int64_t> axes,
                 std::string_view normalization, const IntArray& signal);
// The shape of x, which must be the frequencies of a signal of that shape.
Shape fft_interior(const char* op, const Tensor& x, const IntArray& signal,
                   std::span<const int64_t> axes);
// The complex type of a real one.
DType fft_complex(const char* op, const Tensor& x);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_FFT_FFT_INFER_H_
