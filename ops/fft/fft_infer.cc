#include "ops/fft/fft_infer.h"

#include "absl/strings/str_join.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void CheckAxes(const char* op, const Tensor& x, std::span<const int64_t> axes) {
  PROA_REQUIRE(axes.empty() || x.rank() > 0, op,
               ": a 0-d tensor has no axes; x is ", Describe(x));
  bool seen[kMaxRank] = {};
  for (const int64_t a : axes) {
    const int axis = NormalizeAxis(op, a, x.rank());
    PROA_REQUIRE(!seen[axis], op, ": axis ", axis, " is named twice; x is ",
                 Describe(x));
    seen[axis] = true;
    PROA_REQUIRE(x.size(axis) != 0, op,
                 ": there is nothing to transform along axis ", axis, "; x is ",
                 Describe(x));
  }
}

void CheckNormalization(const char* op, std::string_view normalization) {
  PROA_REQUIRE(normalization == "none" || normalization == "by_n" ||
                   normalization == "by_sqrt_n",
               op, ": normalization is '", normalization,
               "'; it must be 'none', 'by_n' or 'by_sqrt_n'");
}

int LastAxis(const char* op, const Tensor& x, std::span<const int64_t> axes) {
  PROA_REQUIRE(!axes.empty(), op, ": no axes are given; x is ", Describe(x));
  CheckAxes(op, x, axes);
  return NormalizeAxis(op, axes.back(), x.rank());
}

// The size of a signal along `axis`, which has as many frequencies as x.
int64_t SignalSize(const char* op, const Tensor& x, const IntArray& signal,
                   int axis) {
  PROA_REQUIRE(signal.size() == x.rank(), op, ": signal [",
               absl::StrJoin(signal.values(), ", "),
               "] is not the shape of the result; x is ", Describe(x));
  const int64_t n = signal[axis], m = x.size(axis);
  PROA_REQUIRE(n > 0 || IsUnknown(n), op, ": a signal of ", n, " along axis ",
               axis, " has no frequencies; x is ", Describe(x));
  PROA_REQUIRE(IsUnknown(n) || IsUnknown(m) || m == n / 2 + 1, op,
               ": a signal of ", n, " has ", n / 2 + 1,
               " frequencies along axis ", axis, "; x is ", Describe(x));
  return n;
}

}  // namespace

Shape fft(const char* op, const Tensor& x, std::span<const int64_t> axes,
          std::string_view normalization) {
  CheckAxes(op, x, axes);
  CheckNormalization(op, normalization);
  return x.shape();
}

Shape fft_half(const char* op, const Tensor& x, std::span<const int64_t> axes,
               std::string_view normalization) {
  const int last = LastAxis(op, x, axes);
  CheckNormalization(op, normalization);
  Shape out = x.shape();
  const int64_t n = out[last];
  out[last] = IsUnknown(n) ? kUnknownDim : n / 2 + 1;
  return out;
}

Shape fft_signal(const char* op, const Tensor& x, std::span<const int64_t> axes,
                 std::string_view normalization, const IntArray& signal) {
  const int last = LastAxis(op, x, axes);
  CheckNormalization(op, normalization);
  Shape out = x.shape();
  const int64_t m = x.size(last);
  if (signal.size() > 0) {
    out[last] = SignalSize(op, x, signal, last);
  } else if (IsUnknown(m)) {
    out[last] = kUnknownDim;
  } else {
    PROA_REQUIRE(m > 1, op, ": ", m, " frequencies along axis ", last,
                 " make no signal without its size; x is ", Describe(x));
    out[last] = 2 * (m - 1);
  }
  out.numel();  // throws if the product overflows
  return out;
}

Shape fft_interior(const char* op, const Tensor& x, const IntArray& signal,
                   std::span<const int64_t> axes) {
  SignalSize(op, x, signal, LastAxis(op, x, axes));
  return x.shape();
}

DType fft_complex(const char*, const Tensor& x) {
  return x.dtype() == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
}

}  // namespace proa::inline v0::ops::infer
