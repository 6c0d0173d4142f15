#include "ops/nn/class_labels.h"

#include <string>

#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

[[noreturn]] void RefuseLabels(const char* op, const Tensor& label) {
  ThrowTypeError(std::string(op) + ": labels must be integers; label is " +
                 Describe(label) + "; astype('int64') casts it");
}

}  // namespace

void RequireIntegerLabels(const char* op, const Tensor& label) {
  switch (label.dtype()) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return;
    default:
      RefuseLabels(op, label);
  }
}

std::vector<int64_t> ReadClassLabels(const char* op, const Tensor& label,
                                     int64_t classes, int64_t ignore_index) {
  std::vector<int64_t> out(label.numel());
  const auto read = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = label.data<T>();
    for (int64_t i = 0; i < label.numel(); ++i) {
      const int64_t v = static_cast<int64_t>(from[i]);
      PROA_REQUIRE(v == ignore_index || (v >= 0 && v < classes), op, ": label ",
                   v, " at position ", i, " is not in [0, ", classes,
                   ") and is not ignore_index ", ignore_index);
      out[i] = v == ignore_index ? kIgnoredLabel : v;
    }
  };
  switch (label.dtype()) {
    case DType::kUInt8:
      read(TypeTag<uint8_t>{});
      break;
    case DType::kInt8:
      read(TypeTag<int8_t>{});
      break;
    case DType::kInt16:
      read(TypeTag<int16_t>{});
      break;
    case DType::kInt32:
      read(TypeTag<int32_t>{});
      break;
    case DType::kInt64:
      read(TypeTag<int64_t>{});
      break;
    default:
      RefuseLabels(op, label);
  }
  return out;
}

}  // namespace proa::inline v0::ops
