// The key of x[key] read into a list of parts, with NumPy's meaning: integers,
// slices, None, Ellipsis, masks and arrays of integers.
#ifndef PROA_PYTHON_CORE_INDEX_KEY_H_
#define PROA_PYTHON_CORE_INDEX_KEY_H_

#include <Python.h>

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

struct IndexPart {
  enum class Kind : uint8_t {
    kInteger,   // takes one dim away: `start`
    kSlice,     // start:stop:step of one dim, clamped by the op
    kNewAxis,   // None
    kEllipsis,  // as many full slices as dims are left
    kArray,     // integer tensor: one dim
    kMask,      // bool tensor: as many dims as it has
  };
  Kind kind;
  // With a negative step an omitted stop is INT64_MIN, "down to the first
  // element".
  int64_t start = 0, stop = 0, step = 1;
  Tensor array;
};

struct IndexKey {
  absl::InlinedVector<IndexPart, 4> parts;
  bool advanced = false;  // has an array or a mask
};

// The key for a tensor `x`, with exactly one ellipsis part unless all dims are
// named. Throws IndexError for what is no index and for too many of them.
IndexKey ReadIndexKey(PyObject* key, const Tensor& x);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_INDEX_KEY_H_
