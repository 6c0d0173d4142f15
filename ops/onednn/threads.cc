#include "ops/onednn/threads.h"

#include <omp.h>

#include "tensor/parallel.h"

namespace proa::inline v0::onednn {

int NumThreads() {
  GetNumThreads();  // sets OpenMP up: the limit of the cgroup, 1 after a fork
  return omp_get_max_threads();
}

SerialScope::SerialScope() : saved_(omp_get_max_threads()) {
  if (saved_ != 1) omp_set_num_threads(1);
}

SerialScope::~SerialScope() {
  if (saved_ != 1) omp_set_num_threads(saved_);
}

}  // namespace proa::inline v0::onednn
