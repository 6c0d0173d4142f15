#include "ops/primitives/cpu/testing_kernels.h"

#include "ops/kernel.h"

namespace proa::inline v0::ops {

namespace sse2 {
TestingKernels GetTestingKernels();
}
namespace avx2 {
TestingKernels GetTestingKernels();
}
namespace avx512 {
TestingKernels GetTestingKernels();
}

std::vector<TestingKernels> AllTestingKernels() {
  std::vector<TestingKernels> out = {sse2::GetTestingKernels()};
  if (MachineIsa() >= Isa::kAvx2) out.push_back(avx2::GetTestingKernels());
  if (MachineIsa() >= Isa::kAvx512) out.push_back(avx512::GetTestingKernels());
  return out;
}

}  // namespace proa::inline v0::ops
