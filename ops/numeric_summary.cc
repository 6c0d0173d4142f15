#include "ops/numeric_summary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"

namespace proa::inline v0 {
namespace {

// The elements of `t`, contiguous and on the CPU.
Tensor Readable(const Tensor& t) {
  return t.place().is_cpu() ? Contiguous(t) : Contiguous(CopyTo(t, Place{}));
}

// True if all bits of the exponent are set in one of `n` floats, of which `T`
// is the unsigned integer of that size: NaN and infinities only.
template <typename T>
bool AnyFullExponent(const void* data, int64_t n, T exponent) {
  constexpr int64_t kBlock = 4096;
  const char* bytes = static_cast<const char*>(data);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    T found = 0;
    for (int64_t i = begin; i < end; ++i) {
      T bits;
      std::memcpy(&bits, bytes + i * static_cast<int64_t>(sizeof(T)),
                  sizeof(T));
      found |= static_cast<T>((bits & exponent) == exponent);
    }
    if (found != 0) return true;
  }
  return false;
}

enum class Kind : uint8_t { kFinite, kInf, kNan };

Kind KindOf(double v) {
  return std::isnan(v)   ? Kind::kNan
         : std::isinf(v) ? Kind::kInf
                         : Kind::kFinite;
}

template <typename T>
struct Element {
  explicit Element(T v) : value(static_cast<double>(v)), kind(KindOf(value)) {}
  double value;
  Kind kind;
};
template <typename T>
struct Element<std::complex<T>> {
  explicit Element(std::complex<T> v)
      : value(std::hypot(static_cast<double>(v.real()),
                         static_cast<double>(v.imag()))),
        kind(std::max(KindOf(v.real()), KindOf(v.imag()))) {}
  double value;
  Kind kind;
};

template <typename T>
NumericSummary SummarizeElements(const T* data, int64_t n) {
  NumericSummary s;
  s.min = std::numeric_limits<double>::infinity();
  s.max = -s.min;
  double mean = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Element<T> e(data[i]);
    if (e.kind != Kind::kFinite) {
      ++(e.kind == Kind::kNan ? s.nan : s.inf);
      continue;
    }
    ++s.finite;
    s.zero += e.value == 0;
    s.min = std::min(s.min, e.value);
    s.max = std::max(s.max, e.value);
    // A sum of large finite values need not be finite; this is.
    const double weight = 1.0 / static_cast<double>(s.finite);
    mean = mean * (1 - weight) + e.value * weight;
  }
  if (s.finite == 0) s.min = s.max = 0;
  s.mean = mean;
  return s;
}

}  // namespace

NumericSummary Summarize(const Tensor& t) {
  const Tensor r = Readable(t);
  return VisitDType(r.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SummarizeElements(r.data<T>(), r.numel());
  });
}

bool HasNonFinite(const Tensor& t) {
  if (!IsDifferentiable(t.dtype()) || t.numel() == 0) return false;
  const Tensor r = Readable(t);
  const int64_t n = r.numel() * (IsComplex(r.dtype()) ? 2 : 1);
  switch (RealType(r.dtype())) {
    case DType::kFloat16:
      return AnyFullExponent<uint16_t>(r.raw_data(), n, 0x7c00);
    case DType::kBFloat16:
      return AnyFullExponent<uint16_t>(r.raw_data(), n, 0x7f80);
    case DType::kFloat32:
      return AnyFullExponent<uint32_t>(r.raw_data(), n, 0x7f800000);
    default:
      return AnyFullExponent<uint64_t>(r.raw_data(), n, 0x7ff0000000000000);
  }
}

std::string Describe(const NumericSummary& s) {
  std::string text = absl::StrCat(s.nan, " NaN, ", s.inf, " Inf");
  if (s.finite > 0) {
    absl::StrAppend(&text, ", min ", s.min, ", max ", s.max, ", mean ", s.mean);
  }
  return text;
}

std::string CountText(const NumericSummary& s) {
  if (s.inf == 0) return absl::StrCat(s.nan, " NaN");
  if (s.nan == 0) return absl::StrCat(s.inf, " Inf");
  return absl::StrCat(s.nan, " NaN and ", s.inf, " Inf");
}

}  // namespace proa::inline v0
