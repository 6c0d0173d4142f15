#include "ops/primitives/cuda/launch.h"

#include <array>
#include <atomic>

namespace proa::inline v0::ops::cuda {

int NumMultiprocessors() {
  static std::array<std::atomic<int>, 64> counts;
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  int n = counts[device].load(std::memory_order_relaxed);
  if (n == 0) {
    CheckCuda(
        cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
    counts[device].store(n, std::memory_order_relaxed);
  }
  return n;
}

}  // namespace proa::inline v0::ops::cuda
