#include "tensor/execution.h"

#include <omp.h>

#include "tensor/error.h"

namespace proa::inline v0 {

namespace execution_internal {
thread_local constinit const Execution* innermost
    __attribute__((tls_model("initial-exec"))) = nullptr;
}  // namespace execution_internal

using execution_internal::innermost;

ExecutionScope::ExecutionScope(const Execution& settings)
    : now_(settings), before_(innermost) {
  PROA_REQUIRE(settings.num_threads >= 0, "ExecutionScope: num_threads is ",
               settings.num_threads, "; use 1 or more, or 0 for as many as ",
               "outside");
  if (before_ != nullptr) {
    if (now_.num_threads == 0) now_.num_threads = before_->num_threads;
    if (now_.generator == nullptr) now_.generator = before_->generator;
    if (!now_.place.has_value()) now_.place = before_->place;
  }
  if (settings.num_threads > 0) {  // what oneDNN asks, a setting of the thread
    omp_threads_before_ = omp_get_max_threads();
    omp_set_num_threads(settings.num_threads);
  }
  innermost = &now_;
}

ExecutionScope::~ExecutionScope() {
  innermost = before_;
  if (omp_threads_before_ > 0) omp_set_num_threads(omp_threads_before_);
}

}  // namespace proa::inline v0
