#include "ops/onednn/threads.h"

#include "tensor/parallel.h"

namespace proa::inline v0::onednn {

int NumThreads() { return GetNumThreads(); }

}  // namespace proa::inline v0::onednn
