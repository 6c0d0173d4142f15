// What the elements of a tensor are like, for messages: how many are NaN or
// infinite, and the least, greatest and mean of the others.
//
//   Summarize(x).nan;            // 2
//   Describe(Summarize(x));      // "2 NaN, 0 Inf, min -1, max 4, mean 0.5"
//
// Plain loops over the elements, wherever they lie and in whatever layout; no
// op is called, nothing is recorded.
#ifndef PROA_OPS_NUMERIC_SUMMARY_H_
#define PROA_OPS_NUMERIC_SUMMARY_H_

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace proa::inline v0 {

// A complex element is NaN if one of its parts is, else infinite if one of them
// is; the figures of the others are of their absolute values.
struct NumericSummary {
  int64_t nan = 0;
  int64_t inf = 0;
  int64_t zero = 0;
  int64_t finite = 0;
  double min = 0;  // of the finite ones; 0 if there are none
  double max = 0;
  double mean = 0;

  bool all_finite() const { return nan == 0 && inf == 0; }
};

// Of a defined tensor of any dtype that is not symbolic.
NumericSummary Summarize(const Tensor& t);
// The same as !Summarize(t).all_finite(), at the speed of memory.
bool HasNonFinite(const Tensor& t);

std::string Describe(const NumericSummary& s);
// What is not finite: "1 NaN", "2 Inf", "1 NaN and 2 Inf".
std::string CountText(const NumericSummary& s);

}  // namespace proa::inline v0

#endif  // PROA_OPS_NUMERIC_SUMMARY_H_
