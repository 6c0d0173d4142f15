#include "ops/onednn/build_scope.h"

#include <pthread.h>

#include <new>

#include "profiler/events.h"
#include "tensor/allocator.h"

namespace proa::inline v0::onednn {

std::shared_mutex& internal::Builds() {
  static auto* builds = [] {
    // Who compiles allocates, and names kernels for profiles: the handlers of
    // forks that take those locks are registered first, and so run behind this
    // one.
    profiler::RegisterForkHandlers();
    CpuAllocator();
    auto* made = new std::shared_mutex;
    pthread_atfork([] { Builds().lock(); }, [] { Builds().unlock(); },
                   [] {
                     // It knows its writer by the number of a thread, which is
                     // another now.
                     new (&Builds()) std::shared_mutex;
                   });
    return made;
  }();
  return *builds;
}

namespace {

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = internal::Builds();

}  // namespace
}  // namespace proa::inline v0::onednn
