#include "ops/infer.h"

#include <atomic>
#include <initializer_list>
#include <string>

#include "absl/strings/str_join.h"
#include "ops/on_host.h"
#include "tensor/error.h"
#include "tensor/execution.h"
#include "tensor/promotion.h"

namespace proa::inline v0::ops::infer {
namespace {

std::atomic<DType> default_dtype{DType::kFloat32};
std::atomic<Place> default_place{Place{}};

Shape Reduced(const Shape& shape, uint64_t axes, bool keepdim) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((axes >> i & 1) == 0) {
      out.push_back(shape[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

}  // namespace

namespace {

// The error of BroadcastShapes, with the dtypes of the tensors too.
[[noreturn]] __attribute__((noinline, cold)) void FailBroadcast(
    const Error& error, std::initializer_list<const Tensor*> tensors) {
  const std::string text = error.what();
  std::string message = text.substr(0, text.find(';'));
  const char* name = "x";
  for (const Tensor* t : tensors) {
    absl::StrAppend(&message, *name == 'x' ? "; " : ", ", name, " is ",
                    Describe(*t));
    name = *name == 'x' ? "y" : "z";
  }
  ThrowError(error.code(), message);
}

}  // namespace

Shape broadcast(const char* op, const Tensor& x, const Tensor& y) {
  if (x.shape() == y.shape()) return x.shape();
  try {
    return BroadcastShapes(op, x.shape(), y.shape());
  } catch (const Error& error) {
    FailBroadcast(error, {&x, &y});
  }
}

Shape broadcast(const char* op, const Tensor& x, const Tensor& y,
                const Tensor& z) {
  try {
    return BroadcastShapes(op, BroadcastShapes(op, x.shape(), y.shape()),
                           z.shape());
  } catch (const Error& error) {
    FailBroadcast(error, {&x, &y, &z});
  }
}

Shape reduce(const char* op, const Tensor& x, std::span<const int64_t> axis,
             bool keepdim) {
  uint64_t axes = axis.empty() ? ~uint64_t{0} : 0;
  for (const int64_t a : axis) {
    const uint64_t bit = uint64_t{1} << NormalizeAxis(op, a, x.rank());
    PROA_REQUIRE((axes & bit) == 0, op, ": axis ", a, " is given twice; x is ",
                 Describe(x));
    axes |= bit;
  }
  return Reduced(x.shape(), axes, keepdim);
}

Shape reduce(const char* op, const Tensor& x, std::optional<int64_t> axis,
             bool keepdim) {
  if (!axis.has_value()) return Reduced(x.shape(), ~uint64_t{0}, keepdim);
  return Reduced(x.shape(), uint64_t{1} << NormalizeAxis(op, *axis, x.rank()),
                 keepdim);
}

Shape sizes(const char* op, const IntArray& shape) {
  Shape out(shape.values());
  PROA_REQUIRE(out.rank() <= kMaxRank, op, ": ", out.rank(), " dims; at most ",
               kMaxRank, " are possible");
  for (const int64_t d : out) {
    PROA_REQUIRE(d >= 0 || (shape.is_symbolic() && IsUnknown(d)), op,
                 ": shape [", absl::StrJoin(out, ", "),
                 "] has a negative size");
  }
  out.numel();  // throws when the product overflows
  return out;
}

Shape known_elements(const char*, const Tensor& x) {
  const bool integers =
      x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64;
  const bool few = x.rank() <= 1 && x.shape().known() && x.numel() <= kMaxRank;
  return integers && few ? Shape(IntArray(x).values()) : Shape();
}

Shape joined_elements(const char* op, std::span<const Tensor> xs) {
  Shape out;
  for (const Tensor& x : xs) {
    const Shape part = known_elements(op, x);
    if (part.rank() == 0 && x.numel() != 0) return Shape();
    for (const int64_t n : part) out.push_back(n);
  }
  return out;
}

Shape sizes_of(const char*, const Tensor& x) { return x.shape(); }

Shape along(const char* op, const Tensor& x, int64_t axis) {
  NormalizeAxis(op, axis, x.rank());
  return x.shape();
}

DType promote(const char*, const Tensor& x) { return x.dtype(); }

DType promote_slow(DType x, DType y) { return Promote(x, y); }

DType promote(const char*, const Tensor& x, const Tensor& y, const Tensor& z) {
  return Promote(Promote(x.dtype(), y.dtype()), z.dtype());
}

DType promote(const char* op, const Tensor& w, const Tensor& x, const Tensor& y,
              const Tensor& z) {
  return Promote(promote(op, w, x, y), z.dtype());
}

DType promote(const char* op, std::span<const Tensor> xs) {
  PROA_REQUIRE(!xs.empty(), op, ": the list of tensors is empty");
  DType t = xs[0].dtype();
  for (const Tensor& x : xs.subspan(1)) t = Promote(t, x.dtype());
  return t;
}

DType promote_float(const char*, const Tensor& x) {
  return IsDifferentiable(x.dtype()) ? x.dtype() : DefaultDType();
}

DType promote_float(const char* op, const Tensor& x, const Tensor& y) {
  const DType t = promote(op, x, y);
  return IsDifferentiable(t) ? t : DefaultDType();
}

DType promote_sum(const char*, const Tensor& x, std::optional<DType> dtype) {
  if (dtype.has_value()) return *dtype;
  return IsDifferentiable(x.dtype()) ? x.dtype() : DType::kInt64;
}

DType real(const char*, const Tensor& x) { return RealType(x.dtype()); }

DType given(const char*, const Tensor& x, std::optional<DType> dtype) {
  return dtype.value_or(x.dtype());
}

void RequireSameDType(const char* op, const Tensor& x, const char* name,
                      const Tensor& t) {
  if (t.dtype() == x.dtype()) return;
  ThrowTypeError(absl::StrCat(op, ": ", name,
                              " must have the dtype of x; x is ", Describe(x),
                              ", ", name, " is ", Describe(t)));
}

DType DefaultDType() { return default_dtype.load(std::memory_order_relaxed); }

void SetDefaultDType(DType t) {
  if (!IsFloat(t)) {
    ThrowTypeError(
        absl::StrCat("set_default_dtype: ",
                     absl::string_view(Name(t).data(), Name(t).size()),
                     " is not a floating-point dtype"));
  }
  default_dtype.store(t, std::memory_order_relaxed);
}

Place DefaultPlace() {
  if (OnHost::Active()) return {};
  const Execution* execution = CurrentExecution();
  if (execution != nullptr && execution->place.has_value()) {
    return *execution->place;
  }
  return default_place.load(std::memory_order_relaxed);
}

void SetDefaultPlace(Place place) {
  default_place.store(place, std::memory_order_relaxed);
}

}  // namespace proa::inline v0::ops::infer
