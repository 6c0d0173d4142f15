#include "ops/onednn/threads.h"

#include <omp.h>
#include <unistd.h>

#include "tensor/parallel.h"

namespace proa::inline v0::onednn {
namespace {

// A child of fork must not use OpenMP's threads: they are the parent's.
const pid_t home_process = getpid();

// What OMP_NUM_THREADS said when the process began, else all its CPUs.
const int threads_at_start = GetNumThreads();

}  // namespace

int NumThreads() {
  GetNumThreads();  // sets OpenMP up: the limit of the cgroup, 1 after a fork
  return omp_get_max_threads();
}

FixedThreadsScope::FixedThreadsScope(int64_t work)
    : threads_(work < kWorkPerThread || getpid() != home_process ||
                       InParallelRegion()
                   ? 1
                   : threads_at_start),
      saved_(omp_get_max_threads()) {
  if (threads_ != saved_) omp_set_num_threads(threads_);
}

FixedThreadsScope::~FixedThreadsScope() {
  if (threads_ != saved_) omp_set_num_threads(saved_);
}

}  // namespace proa::inline v0::onednn
