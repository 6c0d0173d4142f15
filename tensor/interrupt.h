// CheckInterrupt: how a user stops work that takes long (Ctrl-C). Loops of
// unknown length call it once a turn: over the operations of a program, over
// the nodes of a graph.
//
// The host installs what looks for the user's wish; it is asked at most every
// 20 ms. Not for the inside of kernels: work that is too much for one call is
// refused by a check of its arguments.
#ifndef PROA_TENSOR_INTERRUPT_H_
#define PROA_TENSOR_INTERRUPT_H_

#include <cstdint>

namespace proa::inline v0 {

// Throws if the work of this thread is to be given up.
using InterruptCheck = void (*)();
// Call at start-up. Not synchronized.
void InstallInterruptCheck(InterruptCheck check);

// While it lives, this thread does not look: for pieces of parallel loops,
// whose caller waits for them and may hold what the check waits for (Python's
// lock).
class WithoutInterruptChecks {
 public:
  WithoutInterruptChecks();
  ~WithoutInterruptChecks();
  WithoutInterruptChecks(const WithoutInterruptChecks&) = delete;
  WithoutInterruptChecks& operator=(const WithoutInterruptChecks&) = delete;

 private:
  bool before_;
};

namespace internal {
extern thread_local constinit uint32_t interrupt_turns
    __attribute__((tls_model("initial-exec")));
void LookForInterrupt();
}  // namespace internal

// Throws what the installed check throws. Costs about a nanosecond.
inline void CheckInterrupt() {
  if ((++internal::interrupt_turns & 15) == 0) [[unlikely]]
    internal::LookForInterrupt();
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_INTERRUPT_H_
