#include "autograd/saved_tensor_hooks.h"

#include <utility>
#include <vector>

#include "tensor/error.h"

namespace proa::inline v0::autograd {
namespace internal {

thread_local constinit bool has_saved_tensor_hooks = false;

namespace {
thread_local std::vector<std::shared_ptr<const PackFunctions>> stack;
}  // namespace

std::shared_ptr<const PackFunctions> InnermostSavedTensorHooks() {
  return stack.back();
}

}  // namespace internal

void PushSavedTensorHooks(PackFunctions functions) {
  PROA_REQUIRE(functions.pack && functions.unpack,
               "saved_tensors_hooks: both pack and unpack are needed");
  internal::stack.push_back(
      std::make_shared<const PackFunctions>(std::move(functions)));
  internal::has_saved_tensor_hooks = true;
}

void PopSavedTensorHooks() {
  if (internal::stack.empty()) {
    Fail(absl::StatusCode::kFailedPrecondition,
         "saved_tensors_hooks: there are none on this thread to take off");
  }
  // Goes after the stack is in order: it may run code of the host's.
  const std::shared_ptr<const PackFunctions> gone =
      std::move(internal::stack.back());
  internal::stack.pop_back();
  internal::has_saved_tensor_hooks = !internal::stack.empty();
}

}  // namespace proa::inline v0::autograd
