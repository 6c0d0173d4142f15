// IntArray: sizes given to an op (a shape, repeats, ...), either as plain
// integers or as a 1-D integer tensor that is known only when the program runs.
//
// Eager calls hold integers; `shape(x)` of a symbolic tensor with unknown dims
// is a symbolic tensor. A kernel sees integers only.
#ifndef PROA_OPS_INT_ARRAY_H_
#define PROA_OPS_INT_ARRAY_H_

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

class IntArray {
 public:
  IntArray() = default;
  IntArray(std::initializer_list<int64_t> v) : values_(v) {}
  IntArray(std::span<const int64_t> v) : values_(v.begin(), v.end()) {}
  // Unknown dims are kUnknownDim, whatever their names.
  IntArray(const Shape& s) : values_(s.dims()) {
    for (int64_t& d : values_) {
      if (IsNamed(d)) [[unlikely]]
        d = kUnknownDim;
    }
  }
  // A 1-D (or 0-d) int32 or int64 tensor. A concrete one is read at once; a
  // symbolic one is kept, and `size` is its length if known, else -1.
  explicit IntArray(const Tensor& t);

  bool is_symbolic() const { return tensor_.defined(); }
  const Tensor& tensor() const { return tensor_; }
  Interpreters flags() const { return tensor_.flags(); }
  // When symbolic, as shape inference sees them: sizes and named dims as far as
  // they are known, kUnknownDim otherwise.
  std::span<const int64_t> values() const {
    return {values_.data(), values_.size()};
  }
  int size() const { return static_cast<int>(values_.size()); }
  int64_t operator[](int i) const { return values_[i]; }

 private:
  DimVector values_;
  Tensor tensor_;
};

}  // namespace proa::inline v0

#endif  // PROA_OPS_INT_ARRAY_H_
