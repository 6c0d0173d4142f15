// Class labels of losses, as integers that were checked.
#ifndef PROA_OPS_NN_CLASS_LABELS_H_
#define PROA_OPS_NN_CLASS_LABELS_H_

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

inline constexpr int64_t kIgnoredLabel = -1;

// Each element of the dense integer tensor `label`: a class in [0, classes), or
// kIgnoredLabel where it is ignore_index. Throws Error for other values and
// TypeError for other dtypes.
std::vector<int64_t> ReadClassLabels(const char* op, const Tensor& label,
                                     int64_t classes, int64_t ignore_index);

// Throws TypeError unless `label` is of integers; for kernels that read labels
// on a device.
void RequireIntegerLabels(const char* op, const Tensor& label);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CLASS_LABELS_H_
