// Observers: who watches the op calls of a program. They share one interpreter,
// the first (kProfile, tensor/interpreters.h), which is active on a thread
// while any of them is on; when all are off, no call does anything for them.
//
//   void Watch(ObservedCall& call) {
//     call.Proceed();                  // the call itself, exactly once
//     ...                              // call.op, call.args, call.results
//   }
//   InstallObserver(Observer::kCallLog, &Watch);     // at start-up
//   SetObserver(Observer::kCallLog, true);
//
// Calls that an op makes while it is observed are part of it and not observed
// themselves; those of a composite, and of a gradient formula, are.
#ifndef PROA_OPS_OBSERVERS_H_
#define PROA_OPS_OBSERVERS_H_

#include <cstdint>
#include <span>

#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/allocation_hooks.h"
#include "tensor/interpreters.h"

namespace proa::inline v0 {

// In the order in which they surround a call: the profiler, innermost, does not
// measure the others.
enum class Observer : uint8_t {
  kCrashHandler,
  kNumericCheck,
  kCallLog,
  kProfiler,
};
inline constexpr int kNumObservers = 4;

class ObservedCall {
 public:
  ObservedCall(const OpDefinition& op, std::span<const Value> args,
               std::span<Value> results, uint32_t inner)
      : op(op), args(args), results(results), inner_(inner) {}

  const OpDefinition& op;
  const std::span<const Value> args;
  const std::span<Value> results;

  // The observers inside of this one, then the call.
  void Proceed();
  // The interpreters that are still to come; 0: it is executed at once.
  Interpreters interpreters() const;

 private:
  uint32_t inner_;  // bits of those that have not seen the call yet
};

using ObserverFunction = void (*)(ObservedCall& call);

// Call at start-up. Not synchronized.
void InstallObserver(Observer which, ObserverFunction function);

// For the whole process. The calling thread takes part at once, any other when
// it next allocates a tensor: the op that does so is the last one unobserved.
void SetObserver(Observer which, bool on);
bool IsObserving(Observer which);

// Also told of allocations while they are wanted; null: no more. There is one
// set of allocation hooks in a process, and observers need it to reach threads.
void SetMemoryObserver(const AllocationHooks* hooks);

}  // namespace proa::inline v0

#endif  // PROA_OPS_OBSERVERS_H_
