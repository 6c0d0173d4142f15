// Denormal numbers: those below 2^-126 in float32. A CPU takes fifty times as
// long for a product that has one, and networks make them: gradients of what
// is learned by heart fade through all small numbers to 0. So convolutions and
// products of matrices take and give 0 for them, and everything else keeps
// them.
//
// That is a mode of a thread. Worker threads of OpenMP, in which libraries run
// products, are always in it but for what `parallel_for` runs there, which has
// the mode of the thread that asks: new ones inherit the mode of the thread
// that starts them, and those of `parallel_for` are left so.
#ifndef PROA_TENSOR_DENORMALS_H_
#define PROA_TENSOR_DENORMALS_H_

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace proa::inline v0 {

// What a thread does with numbers: rounding, exceptions and denormals, without
// the flags of what happened so far.
#if defined(__SSE2__)
inline constexpr uint32_t kHappened = 0x3f;
inline uint32_t FloatMode() { return _mm_getcsr() & ~kHappened; }
inline void SetFloatMode(uint32_t mode) {
  _mm_setcsr((_mm_getcsr() & kHappened) | mode);
}
// Results are flushed, operands taken for 0.
inline constexpr uint32_t kNoDenormals = 0x8040;
#else
// On other processors they cost little, or it is not known.
inline uint32_t FloatMode() { return 0; }
inline void SetFloatMode(uint32_t) {}
inline constexpr uint32_t kNoDenormals = 0;
#endif

// Within the scope, and in workers that are started in it, there are none.
class NoDenormalsScope {
 public:
  NoDenormalsScope() : saved_(FloatMode()) {
    SetFloatMode(saved_ | kNoDenormals);
  }
  NoDenormalsScope(const NoDenormalsScope&) = delete;
  NoDenormalsScope& operator=(const NoDenormalsScope&) = delete;
  ~NoDenormalsScope() { SetFloatMode(saved_); }

 private:
  const uint32_t saved_;
};

// The mode of another thread; afterwards no denormals.
class WorkerFloatScope {
 public:
  explicit WorkerFloatScope(uint32_t mode) { SetFloatMode(mode); }
  WorkerFloatScope(const WorkerFloatScope&) = delete;
  WorkerFloatScope& operator=(const WorkerFloatScope&) = delete;
  ~WorkerFloatScope() { SetFloatMode(FloatMode() | kNoDenormals); }
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_DENORMALS_H_
