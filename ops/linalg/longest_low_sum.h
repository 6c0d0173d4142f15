// The longest sum that oneDNN's products of bfloat16 in AMX do not cut into
// blocks, of which there are more or fewer with other numbers of threads.
#ifndef PROA_OPS_LINALG_LONGEST_LOW_SUM_H_
#define PROA_OPS_LINALG_LONGEST_LOW_SUM_H_

#include <cstdint>

namespace proa::inline v0::ops {

constexpr int64_t kLongestLowSum = 768;

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_LONGEST_LOW_SUM_H_
