#include "ops/primitives/cuda/precision.h"

#include <cstdlib>
#include <string_view>

namespace proa::inline v0::ops::cuda {

bool Tf32Allowed() {
  static const bool allowed = [] {
    const char* asked = std::getenv("PROA_ALLOW_TF32");
    return asked != nullptr && std::string_view(asked) == "1";
  }();
  return allowed;
}

}  // namespace proa::inline v0::ops::cuda
