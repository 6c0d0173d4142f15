#include <vector>

#include "bazel/testing/scale.h"

namespace proa::inline v0::isa::PROA_ISA {

// push_back drags std::vector's own inline functions into this object, compiled
// for this instruction set: those must not leave it.
std::vector<float> Scale(const std::vector<float>& x, float a, float b) {
  std::vector<float> y;
  for (float value : x) y.push_back(a * value + b);
  return y;
}

const char* Name() { return PROA_ISA_NAME; }

}  // namespace proa::inline v0::isa::PROA_ISA
