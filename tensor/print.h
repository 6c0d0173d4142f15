// Elements of a tensor as text, laid out as NumPy does: aligned columns, the
// fewest digits that tell the numbers apart, scientific notation where
// magnitudes differ, and "..." in the middle of large tensors.
//
//   FormatElements(t, {}, 7)  ->  "[[0.5 , 1.  ],\n        [2.25, 3.  ]]"
//
// The header around it (shape, dtype, place) is the caller's.
#ifndef PROA_TENSOR_PRINT_H_
#define PROA_TENSOR_PRINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace proa::inline v0 {

struct PrintOptions {
  int precision = 8;         // digits after the point, at most
  int64_t threshold = 1000;  // more elements than that are summarized,
  int64_t edgeitems = 3;     // with so many at both ends of each dim
  int linewidth = 80;
  // Scientific notation: by magnitude unless given. By magnitude: the largest
  // is 1e8 or more, the smallest below 1e-4, or their ratio above 1000.
  std::optional<bool> sci_mode;
};

// Of the process; thread-safe.
PrintOptions GetPrintOptions();
// Throws Error for a negative precision, threshold or edgeitems and for a
// linewidth below 1.
void SetPrintOptions(const PrintOptions& options);

// `indent`: the column in which the text begins; later lines are indented to
// match. Empty tensors are "[]". Throws Error for symbolic and undefined
// tensors. Waits for the device.
std::string FormatElements(const Tensor& t, const PrintOptions& options,
                           int indent = 0);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_PRINT_H_
