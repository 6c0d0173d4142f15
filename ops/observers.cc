#include "ops/observers.h"

#include <atomic>
#include <bit>

#include "ops/interpreter.h"
#include "tensor/place.h"

namespace proa::inline v0 {
namespace {

constinit ObserverFunction functions[kNumObservers] = {};
constinit std::atomic<uint32_t> active{0};
constinit std::atomic<const AllocationHooks*> memory{nullptr};

constexpr uint32_t Bit(Observer which) {
  return uint32_t{1} << static_cast<int>(which);
}

void Observe(const OpDefinition& op, std::span<const Value> args,
             std::span<Value> results) {
  const uint32_t all = active.load(std::memory_order_relaxed);
  // This thread has not heard of the end yet.
  if (all == 0) LeaveInterpreter(kProfile);
  ObservedCall(op, args, results, all).Proceed();
}

// A thread that calls ops allocates sooner or later: it then learns that
// somebody watches.
void OnAllocated(Place place, const void* data, int64_t bytes, bool pooled) {
  thread_interpreters.forced |= kProfile;
  const AllocationHooks* hooks = memory.load(std::memory_order_acquire);
  if (hooks != nullptr) hooks->allocated(place, data, bytes, pooled);
}

void OnFreed(Place place, const void* data, int64_t bytes) {
  const AllocationHooks* hooks = memory.load(std::memory_order_acquire);
  if (hooks != nullptr) hooks->freed(place, data, bytes);
}

constexpr AllocationHooks kHooks{&OnAllocated, &OnFreed};

Interpreters FlagsOf(const Value& v) {
  if (const auto* t = std::get_if<Tensor>(&v)) {
    return t->defined() ? t->flags() : 0;
  }
  if (const auto* a = std::get_if<IntArray>(&v)) return a->flags();
  Interpreters flags = 0;
  if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    for (const Tensor& t : *ts) flags |= t.defined() ? t.flags() : 0;
  }
  return flags;
}

const bool installed = [] {
  InstallInterpreter(kProfile, &Observe);
  return true;
}();

}  // namespace

void ObservedCall::Proceed() {
  if (inner_ == 0) return op.call(args, results);
  const int first = std::countr_zero(inner_);
  inner_ &= inner_ - 1;
  functions[first & (kNumObservers - 1)](*this);
}

Interpreters ObservedCall::interpreters() const {
  Interpreters flags = 0;
  for (const Value& v : args) flags |= FlagsOf(v);
  return ActiveInterpreters(flags);
}

void InstallObserver(Observer which, ObserverFunction function) {
  functions[static_cast<int>(which)] = function;
}

void SetObserver(Observer which, bool on) {
  const uint32_t before =
      on ? active.fetch_or(Bit(which), std::memory_order_relaxed)
         : active.fetch_and(~Bit(which), std::memory_order_relaxed);
  const bool any = on || (before & ~Bit(which)) != 0;
  InstallAllocationHooks(AllocationHookSlot::kObserve, any ? &kHooks : nullptr);
  if (any) {
    thread_interpreters.forced |= kProfile;
  } else {
    thread_interpreters.forced &= ~kProfile;
  }
}

bool IsObserving(Observer which) {
  return (active.load(std::memory_order_relaxed) & Bit(which)) != 0;
}

void SetMemoryObserver(const AllocationHooks* hooks) {
  memory.store(hooks, std::memory_order_release);
}

}  // namespace proa::inline v0
