// The flag word that decides what a call of an op means.
//
// A call of an op first meets the interpreters that are active, in the order of
// their bits. `(flags of the tensor arguments | thread.forced) &
// thread.allowed` is the set of active interpreters; zero means: run the
// kernel.
//
//   order  interpreter    active when
//   1      profile        somebody watches calls: a profiler, the log of calls,
//                         the check for NaN                     (forced)
//   2      autocast       inside amp.auto_cast                  (forced)
//   3      differentiate  an argument requires grad             (tensor flag;
//                         `no_grad` takes it out of `allowed`)
//   4      record         an argument is symbolic (tensor flag), or static mode
//                         is on (forced)
//
// Casts are differentiated, so 2 comes before 3; symbolic tensors carry grad
// nodes, so 3 comes before 4. The list is closed. This header holds the bits
// only; //ops:interpreter runs the interpreters.
#ifndef PROA_TENSOR_INTERPRETERS_H_
#define PROA_TENSOR_INTERPRETERS_H_

#include <cstdint>

namespace proa::inline v0 {

using Interpreters = uint32_t;

inline constexpr Interpreters kProfile = 1u << 0;
inline constexpr Interpreters kAutocast = 1u << 1;
inline constexpr Interpreters kDifferentiate = 1u << 2;
inline constexpr Interpreters kRecord = 1u << 3;
inline constexpr Interpreters kAllInterpreters = (1u << 4) - 1;
inline constexpr int kNumInterpreters = 4;

struct ThreadInterpreters {
  Interpreters forced = 0;
  Interpreters allowed = kAllInterpreters;
  // Which settings autocast has, a number of //amp:autocast; it is on where
  // `forced` says so.
  uint32_t autocast = 0;
};

// Of this thread. initial-exec: this word is read in every op call.
extern thread_local constinit ThreadInterpreters thread_interpreters
    __attribute__((tls_model("initial-exec")));

inline Interpreters ActiveInterpreters(Interpreters tensor_flags) {
  const ThreadInterpreters& t = thread_interpreters;
  return (tensor_flags | t.forced) & t.allowed;
}

// Forbids (or allows) interpreters in a scope, e.g. `no_grad`.
class InterpreterScope {
 public:
  static InterpreterScope Forbid(Interpreters bits) {
    return InterpreterScope(thread_interpreters.forced,
                            thread_interpreters.allowed & ~bits);
  }
  static InterpreterScope Allow(Interpreters bits) {
    return InterpreterScope(thread_interpreters.forced,
                            thread_interpreters.allowed | bits);
  }
  static InterpreterScope Force(Interpreters bits) {
    return InterpreterScope(thread_interpreters.forced | bits,
                            thread_interpreters.allowed);
  }
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;
  ~InterpreterScope() { thread_interpreters = saved_; }

 private:
  InterpreterScope(Interpreters forced, Interpreters allowed)
      : saved_(thread_interpreters) {
    thread_interpreters.forced = forced;
    thread_interpreters.allowed = allowed;
  }
  ThreadInterpreters saved_;
};

inline bool GradEnabled() {
  return (thread_interpreters.allowed & kDifferentiate) != 0;
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_INTERPRETERS_H_
