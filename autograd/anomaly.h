// Anomaly mode: nodes remember where their forward call was, and backward names
// that place when a formula fails or makes NaN or Inf. For debugging; each node
// costs a look at the call stack, and each gradient a pass over its elements.
//
//   SetAnomalyMode(AnomalyMode::kTraceAndCheck);
//   ... forward, backward ...
//   SetAnomalyMode(AnomalyMode::kOff);
//
// The mode is the process's. The room knows no language: who has call stacks
// (the Python package) installs a function that looks at them.
#ifndef PROA_AUTOGRAD_ANOMALY_H_
#define PROA_AUTOGRAD_ANOMALY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace proa::inline v0::autograd {

enum class AnomalyMode : uint8_t {
  kOff,
  kTrace,          // remember the forward call, name it when a formula throws
  kTraceAndCheck,  // and look for NaN and Inf in every gradient
};
void SetAnomalyMode(AnomalyMode mode);
AnomalyMode GetAnomalyMode();

// Describes a place in the host program, innermost frame last, when asked:
// lines without a newline at the end. Called on any thread.
using ForwardTrace = std::function<std::string()>;

struct AnomalyHandlers {
  // The place at which this thread is; an empty function if it is unknown.
  ForwardTrace (*trace)() = nullptr;
  // Called in a catch block, for an exception that is no proa::Error: adds
  // `note` to it. The exception goes on when this returns.
  void (*annotate)(const std::string& note) = nullptr;
};
// Call at start-up. Not synchronized.
void InstallAnomalyHandlers(const AnomalyHandlers& handlers);
const AnomalyHandlers& InstalledAnomalyHandlers();

namespace internal {
extern constinit std::atomic<AnomalyMode> anomaly_mode;
}  // namespace internal

inline void SetAnomalyMode(AnomalyMode mode) {
  internal::anomaly_mode.store(mode, std::memory_order_relaxed);
}
inline AnomalyMode GetAnomalyMode() {
  return internal::anomaly_mode.load(std::memory_order_relaxed);
}

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_ANOMALY_H_
