// The thread count that oneDNN compiles primitives for: part of every cache
// key, since a primitive divides its work when it is compiled. And a way to fix
// it, for primitives whose sums depend on how the work is divided.
#ifndef PROA_OPS_ONEDNN_THREADS_H_
#define PROA_OPS_ONEDNN_THREADS_H_

#include <cstdint>

namespace proa::inline v0::onednn {

// What oneDNN asks for on this thread; 1 in a child of fork.
int NumThreads();

// Within the scope oneDNN compiles and runs with the thread count that the work
// is worth, whatever SetNumThreads says: one below `kWorkPerThread`
// multiply-adds, else OMP_NUM_THREADS as the process began, or all its CPUs. So
// the bits of a result depend on the machine and the environment only.
class FixedThreadsScope {
 public:
  static constexpr int64_t kWorkPerThread = 1 << 20;
  explicit FixedThreadsScope(int64_t work);
  FixedThreadsScope(const FixedThreadsScope&) = delete;
  FixedThreadsScope& operator=(const FixedThreadsScope&) = delete;
  ~FixedThreadsScope();
  int threads() const { return threads_; }

 private:
  int threads_;
  int saved_;
};

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_THREADS_H_
