// Shape and dtype rules that schemas name in `infer`. Pure functions over
// tensor meta: they never read elements, and treat kUnknownDim as "any size",
// so they serve real and symbolic tensors alike. The first argument is the op,
// for messages.
//
// A rule used by one family only lives in ops/<family>/<family>_infer.h, in the
// same namespace; generated code includes both.
#ifndef PROA_OPS_INFER_H_
#define PROA_OPS_INFER_H_

#include <optional>
#include <span>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// Shape rules ---------------------------------------------------------------

// NumPy broadcasting of two or three tensors.
Shape broadcast(const char* op, const Tensor& x, const Tensor& y);
Shape broadcast(const char* op, const Tensor& x, const Tensor& y,
                const Tensor& z);
// Drops (or keeps as 1) the axes; an empty list means all of them. Duplicate
// axes are an error.
Shape reduce(const char* op, const Tensor& x, std::span<const int64_t> axis,
             bool keepdim);
Shape reduce(const char* op, const Tensor& x, std::optional<int64_t> axis,
             bool keepdim);
// The sizes themselves, checked: no negative size (unless symbolic), no
// overflow.
Shape sizes(const char* op, const IntArray& shape);
// Element rules (`elements`): what is known of the elements of small integer
// tensors of one dim or none. Empty if nothing is.
Shape known_elements(const char* op, const Tensor& x);
Shape joined_elements(const char* op, std::span<const Tensor> xs);
Shape sizes_of(const char* op, const Tensor& x);

// Same shape, after checking that `axis` is an axis of x.
Shape along(const char* op, const Tensor& x, int64_t axis);

// DType rules ---------------------------------------------------------------

// The common type of the arguments (tensor/promotion.h).
DType promote(const char* op, const Tensor& x);
DType promote_slow(DType x, DType y);
inline DType promote(const char*, const Tensor& x, const Tensor& y) {
  return x.dtype() == y.dtype() ? x.dtype()
                                : promote_slow(x.dtype(), y.dtype());
}
DType promote(const char* op, const Tensor& x, const Tensor& y,
              const Tensor& z);
DType promote(const char* op, const Tensor& w, const Tensor& x, const Tensor& y,
              const Tensor& z);
DType promote(const char* op, std::span<const Tensor> xs);
// The same, but integers and bool become the default float type.
DType promote_float(const char* op, const Tensor& x);
DType promote_float(const char* op, const Tensor& x, const Tensor& y);
// bool and small integers sum to int64 unless `dtype` says otherwise.
DType promote_sum(const char* op, const Tensor& x, std::optional<DType> dtype);
// Of complex the real type, others unchanged.
DType real(const char* op, const Tensor& x);
// `dtype` if given, else that of x.
DType given(const char* op, const Tensor& x, std::optional<DType> dtype);

// Throws TypeError unless the argument called `name` has the dtype of x:
// kernels of such ops read both as one type.
void RequireSameDType(const char* op, const Tensor& x, const char* name,
                      const Tensor& t);

// Defaults of this process ----------------------------------------------------

// float32 until set (proa.set_default_dtype).
DType DefaultDType();
void SetDefaultDType(DType t);
// cpu until set (proa.set_device): where ops without tensor arguments create.
Place DefaultPlace();
void SetDefaultPlace(Place place);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_INFER_H_
