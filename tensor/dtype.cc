#include "tensor/dtype.h"

namespace proa::inline v0 {

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kDTypeInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace proa::inline v0
