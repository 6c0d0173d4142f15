// In the place of the backend "nccl" where there is no CUDA.
#include "distributed/backend.h"

namespace proa::inline v0::distributed {
namespace {

[[maybe_unused]] const bool registered = RegisterAbsentBackend(
    "nccl",
    "this build has no CUDA, which it needs; build with --config=cuda, where "
    "the CUDA toolkit and NCCL are");

}  // namespace
}  // namespace proa::inline v0::distributed
