#include "tensor/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "tensor/bfloat16.h"
#include "tensor/float16.h"

namespace proa::inline v0 {
namespace {

// Long enough for the largest double in fixed notation and some digits.
constexpr size_t kBuffer = 1536;

// Takes "-1.25e+03" or "-1250.5" apart.
Decimal Parse(std::string_view text) {
  Decimal d;
  if (text.starts_with('-')) {
    d.negative = true;
    text.remove_prefix(1);
  }
  int exponent = 0;
  if (const size_t e = text.find('e'); e != text.npos) {
    const char* begin = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(begin, text.data() + text.size(), exponent);
    text = text.substr(0, e);
  }
  const size_t dot = std::min(text.find('.'), text.size());
  d.digits = std::string(text.substr(0, dot));
  if (dot < text.size()) d.digits += text.substr(dot + 1);
  d.point = static_cast<int>(dot) + exponent;
  const size_t first =
      std::min(d.digits.find_first_not_of('0'), d.digits.size());
  d.digits.erase(0, first);
  d.point -= static_cast<int>(first);
  while (d.digits.ends_with('0')) d.digits.pop_back();
  if (d.digits.empty()) d.point = 0;
  return d;
}

template <typename... How>
Decimal Format(double v, How... how) {
  char buffer[kBuffer];
  const auto r = std::to_chars(buffer, buffer + kBuffer, v, how...);
  return Parse({buffer, static_cast<size_t>(r.ptr - buffer)});
}

// For types without a to_chars: tries lengths from one digit up.
template <typename T>
Decimal ShortestBySearch(double v) {
  const T element(v);
  for (int places = 0;; ++places) {
    char buffer[kBuffer];
    const auto r = std::to_chars(buffer, buffer + kBuffer, v,
                                 std::chars_format::scientific, places);
    double back;
    std::from_chars(buffer, r.ptr, back);
    if (places >= std::numeric_limits<T>::max_digits10 ||
        T(back).bits() == element.bits()) {
      return Parse({buffer, static_cast<size_t>(r.ptr - buffer)});
    }
  }
}

int DecimalLength(int n) { return static_cast<int>(std::to_string(n).size()); }

}  // namespace

Decimal ShortestDecimal(double v, DType type) {
  switch (type) {
    case DType::kFloat16:
      return ShortestBySearch<float16>(v);
    case DType::kBFloat16:
      return ShortestBySearch<bfloat16>(v);
    case DType::kFloat64:
    case DType::kComplex128:
      return Format(v, std::chars_format::scientific);
    default: {
      char buffer[64];
      const auto r =
          std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(v),
                        std::chars_format::scientific);
      return Parse({buffer, static_cast<size_t>(r.ptr - buffer)});
    }
  }
}

Decimal RoundedFixed(double v, int places) {
  return Format(v, std::chars_format::fixed, places);
}

Decimal RoundedScientific(double v, int places) {
  return Format(v, std::chars_format::scientific, places);
}

FloatFormat::FloatFormat(std::span<const double> values, DType type,
                         int precision, std::optional<bool> sci_mode,
                         bool always_sign)
    : type_(type), precision_(precision), always_sign_(always_sign) {
  double largest = 0, smallest = INFINITY;
  bool any_finite = false, any_other = false, negative_infinity = always_sign;
  for (double v : values) {
    if (!std::isfinite(v)) {
      any_other = true;
      negative_infinity |= v < 0;
      continue;
    }
    any_finite = true;
    if (v == 0) continue;
    largest = std::max(largest, std::fabs(v));
    smallest = std::min(smallest, std::fabs(v));
  }
  const bool by_magnitude = largest > 0 && (largest >= 1e8 || smallest < 1e-4 ||
                                            largest / smallest > 1000);
  scientific_ = any_finite && sci_mode.value_or(by_magnitude);
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    const Parts parts = Split(v);
    left_ = std::max(left_, static_cast<int>(parts.integer.size()));
    right_ = std::max(right_, static_cast<int>(parts.fraction.size()));
    exponent_ = std::max(exponent_, DecimalLength(std::abs(parts.exponent)));
  }
  exponent_ = scientific_ ? std::max(exponent_, 2) : 0;
  if (any_other) {
    // "nan" and "inf" may use the room of the fraction.
    const int rest = right_ + 1 + (scientific_ ? exponent_ + 2 : 0);
    left_ = std::max(left_, 3 + (negative_infinity ? 1 : 0) - rest);
    left_ = std::max(left_, 3 - rest);
  }
}

FloatFormat::Parts FloatFormat::Split(double v) const {
  Decimal d = ShortestDecimal(v, type_);
  const int digits = static_cast<int>(d.digits.size());
  Parts parts;
  if (std::signbit(v)) {
    parts.integer = '-';
  } else if (always_sign_) {
    parts.integer = '+';
  }
  if (scientific_) {
    if (digits - 1 > precision_) d = RoundedScientific(v, precision_);
    parts.integer += d.digits.empty() ? '0' : d.digits[0];
    parts.fraction = d.digits.empty() ? "" : d.digits.substr(1);
    parts.exponent = d.digits.empty() ? 0 : d.point - 1;
    return parts;
  }
  if (digits - d.point > precision_) d = RoundedFixed(v, precision_);
  if (digits < d.point) d = RoundedFixed(v, 0);  // integers are written in full
  if (d.point <= 0) {
    parts.integer += '0';
    parts.fraction =
        d.digits.empty() ? "" : std::string(-d.point, '0') + d.digits;
  } else {
    std::string& s = d.digits;
    if (static_cast<int>(s.size()) < d.point) s.append(d.point - s.size(), '0');
    parts.integer += s.substr(0, d.point);
    parts.fraction = s.substr(d.point);
  }
  return parts;
}

std::string FloatFormat::NonFinite(double v) const {
  std::string text = std::isnan(v) ? "nan" : "inf";
  if (v < 0) {
    text = "-" + text;
  } else if (always_sign_) {
    text = "+" + text;
  }
  const int width = left_ + 1 + right_ + (scientific_ ? exponent_ + 2 : 0);
  const int pad = std::max(0, width - static_cast<int>(text.size()));
  return std::string(pad, ' ') + text;
}

std::string FloatFormat::operator()(double v) const {
  if (!std::isfinite(v)) return NonFinite(v);
  Parts parts = Split(v);
  if (scientific_ && static_cast<int>(parts.fraction.size()) < right_) {
    // All digits of the column are true ones, also those beyond the shortest.
    const Decimal d = RoundedScientific(v, right_);
    if (!d.digits.empty()) {
      parts.integer.back() = d.digits[0];
      parts.fraction = d.digits.substr(1);
      parts.exponent = d.point - 1;
    }
  }
  const auto missing = [](int width, const std::string& s) {
    return static_cast<size_t>(std::max(0, width - static_cast<int>(s.size())));
  };
  std::string text(missing(left_, parts.integer), ' ');
  text += parts.integer + "." + parts.fraction;
  text.append(missing(right_, parts.fraction), scientific_ ? '0' : ' ');
  if (scientific_) {
    const std::string exponent = std::to_string(std::abs(parts.exponent));
    text += parts.exponent < 0 ? "e-" : "e+";
    text += std::string(missing(exponent_, exponent), '0') + exponent;
  }
  return text;
}

}  // namespace proa::inline v0
