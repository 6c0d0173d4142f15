#include "tensor/allocation_hooks.h"

namespace proa::inline v0::internal {

constinit std::atomic<const AllocationHooks*> allocation_hooks{nullptr};

}  // namespace proa::inline v0::internal
