// A toy kernel that exists once per instruction set: y = a * x + b. The tests
// of isa_libraries and python_extension use it; nothing else should.
#ifndef PROA_BAZEL_TESTING_SCALE_H_
#define PROA_BAZEL_TESTING_SCALE_H_

#include <vector>

namespace proa::inline v0::isa {

#define PROA_DECLARE_SCALE(isa)                                            \
  namespace isa {                                                          \
  std::vector<float> Scale(const std::vector<float>& x, float a, float b); \
  const char* Name();                                                      \
  }
PROA_DECLARE_SCALE(sse2)
PROA_DECLARE_SCALE(avx2)
PROA_DECLARE_SCALE(avx512)
#undef PROA_DECLARE_SCALE

}  // namespace proa::inline v0::isa

#endif  // PROA_BAZEL_TESTING_SCALE_H_
