#include "autograd/saved_tensor.h"

#include <utility>

#include "autograd/grad_state.h"
#include "tensor/error.h"

namespace proa::inline v0::autograd {
namespace {

[[noreturn]] __attribute__((noinline, cold)) void FailReleased(
    const Node& owner) {
  Fail(absl::StatusCode::kFailedPrecondition,
       "backward: the tensors saved for ", owner.name(),
       "'s backward were freed by the first backward, so it cannot run "
       "backward a second time; pass retain_graph=True to the first");
}

[[noreturn]] __attribute__((noinline, cold)) void FailChanged(const Node& owner,
                                                              const Tensor& t,
                                                              uint32_t saved) {
  const char* writer = t.storage() ? t.storage()->last_writer() : nullptr;
  Fail(absl::StatusCode::kFailedPrecondition, "backward: a tensor saved for ",
       owner.name(), "'s backward was changed in place by ",
       writer != nullptr ? writer : "an op without a name", "; it is ",
       Describe(t), ", was saved at version ", saved, " and is at version ",
       t.version(), "; change a copy (clone), or change it after backward");
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& output, uint32_t slot) {
  if (!output.defined()) return;
  Keep(Detach(output));
  slot_ = static_cast<int32_t>(slot);
}

// A symbolic tensor changed in place is bound to a new program value; it has no
// version, so the value of now is kept under another handle.
SavedTensor SavedTensor::Overwritten(const Tensor& input) {
  SavedTensor saved;
  if (!input.defined()) return saved;
  saved.Keep(Detach(input));
  if (Edge edge = GradEdge(input); edge.node) {
    SetHistory(saved.tensor_, std::move(edge.node), edge.slot);
  }
  return saved;
}

Tensor SavedTensor::Get(Node& owner) const {
  if (slot_ == kReleased) [[unlikely]]
    FailReleased(owner);
  if (!tensor_.defined()) return {};
  if (tensor_.version() != version_ || tensor_.storage().get() != storage_)
      [[unlikely]] {
    FailChanged(owner, tensor_, version_);
  }
  if (slot_ < 0 || !GradEnabled()) return tensor_;
  Tensor with_history = Detach(tensor_);
  SetHistory(with_history, IntrusivePtr<Node>::Share(&owner), slot_);
  return with_history;
}

void SavedTensor::Release() {
  if (!tensor_.defined()) return;  // an absent argument stays absent
  tensor_ = Tensor();
  slot_ = kReleased;
}

}  // namespace proa::inline v0::autograd
