// Groups of rows by ids that do not fall: rows with the same id stand beside
// each other.
#ifndef PROA_OPS_SPARSE_GROUPS_H_
#define PROA_OPS_SPARSE_GROUPS_H_

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

// Where groups begin, and the number of ids at the end. Throws Error where an
// id is smaller than the one before it; `ids` is int32 or int64 [n].
std::vector<int64_t> GroupStarts(const char* op, const Tensor& ids);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_SPARSE_GROUPS_H_
