// Numbers as text with a common width, as NumPy's FloatingFormat and kin: a
// format is made for a set of values, then writes each of them.
#ifndef PROA_TENSOR_NUMBER_FORMAT_H_
#define PROA_TENSOR_NUMBER_FORMAT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace proa::inline v0 {

// A finite number in decimal: 0.d1d2d3... * 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;  // no leading and no trailing zeros; "" is zero
  int point = 0;
};

// The fewest digits that read back as `v` when `v` is of `type` (a float type;
// for complex types that of the parts).
Decimal ShortestDecimal(double v, DType type);
// `v` rounded, ties to even, to `places` digits after the point...
Decimal RoundedFixed(double v, int places);
// ... or after the first digit.
Decimal RoundedScientific(double v, int places);

class FloatFormat {
 public:
  // `type`: of the elements. `always_sign` writes "+", for imaginary parts.
  FloatFormat(std::span<const double> values, DType type, int precision,
              std::optional<bool> sci_mode, bool always_sign = false);
  std::string operator()(double v) const;

 private:
  // "-12" and "5", for -12.5; the exponent is left to Write.
  struct Parts {
    std::string integer;
    std::string fraction;
    int exponent = 0;
  };
  Parts Split(double v) const;
  std::string NonFinite(double v) const;

  DType type_;
  int precision_;
  bool always_sign_;
  bool scientific_ = false;
  int left_ = 0;      // width before the point
  int right_ = 0;     // digits after it
  int exponent_ = 0;  // digits of the exponent
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_NUMBER_FORMAT_H_
