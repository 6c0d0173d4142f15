#include "tensor/scalar.h"

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// The shortest text that reads back as `v`; with ".0" if it looks like an
// integer, unless it is a part of a complex number.
std::string FloatText(double v, bool part = false) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[32];
  // Python's repr: fixed from 1e-4 up to 1e16, scientific outside.
  const double a = std::fabs(v);
  const bool fixed = a == 0 || (a >= 1e-4 && a < 1e16);
  const auto r = std::to_chars(
      buffer, buffer + sizeof(buffer), v,
      fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string s(buffer, r.ptr);
  if (fixed && !part && s.find('.') == std::string::npos) s += ".0";
  return s;
}

}  // namespace

double Scalar::RealPart(DType to) const {
  if (kind_ == 'c' && im_ != 0) {
    ThrowTypeError("scalar: " + ToString() +
                   " has an imaginary part and is no " + std::string(Name(to)) +
                   "; take its real part first");
  }
  return re_;
}

int64_t Scalar::Integer(DType to) const {
  const double v = RealPart(to);
  // -2^63 is a double, 2^63 is the first one too large; NaN fails both.
  if (!(v >= -0x1p63 && v < 0x1p63)) {
    FailArgument("scalar: ", FloatText(v), " does not fit in ", Name(to));
  }
  return static_cast<int64_t>(v);
}

std::string Scalar::ToString() const {
  switch (kind_) {
    case 'b':
      return i_ != 0 ? "True" : "False";
    case 'i':
      return std::to_string(i_);
    case 'f':
      return FloatText(re_);
    default: {
      std::string im = FloatText(im_, /*part=*/true);
      if (im[0] != '-') im = "+" + im;
      return "(" + FloatText(re_, /*part=*/true) + im + "j)";
    }
  }
}

bool operator==(const Scalar& a, const Scalar& b) {
  const auto same = [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  };
  return a.kind_ == b.kind_ && a.i_ == b.i_ && same(a.re_, b.re_) &&
         same(a.im_, b.im_);
}

}  // namespace proa::inline v0
