#include "ops/primitives/cuda/precision.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace proa::inline v0::ops::cuda {
namespace {

std::atomic<bool>& Allowed() {
  static std::atomic<bool> allowed = [] {
    const char* asked = std::getenv("PROA_ALLOW_TF32");
    return asked != nullptr && std::string_view(asked) == "1";
  }();
  return allowed;
}

}  // namespace

bool Tf32Allowed() { return Allowed().load(std::memory_order_relaxed); }
void AllowTf32(bool allow) {
  Allowed().store(allow, std::memory_order_relaxed);
}

}  // namespace proa::inline v0::ops::cuda
