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

void SavedTensor::Keep(const Tensor& t, Kind kind) {
  alias_ = Detach(t);
  version_ = t.version();
  kind_ = kind;
}

SavedTensor::SavedTensor(const Tensor& input) {
  if (!input.defined()) return;
  Keep(input, Kind::kInput);
  Edge edge = GradEdge(input);
  producer_ = std::move(edge.node);
  slot_ = edge.slot;
}

SavedTensor::SavedTensor(const Tensor& output, uint32_t slot) {
  if (!output.defined()) return;
  Keep(output, Kind::kOutput);
  slot_ = slot;
}

Tensor SavedTensor::Get(Node& owner) const {
  if (kind_ == Kind::kReleased) [[unlikely]]
    FailReleased(owner);
  if (kind_ == Kind::kNothing) return {};
  if (alias_.version() != version_) [[unlikely]]
    FailChanged(owner, alias_, version_);
  const bool has_history = kind_ == Kind::kOutput || producer_;
  if (!has_history || !GradEnabled()) return alias_;
  Tensor with_history = Detach(alias_);
  SetHistory(
      with_history,
      kind_ == Kind::kOutput ? IntrusivePtr<Node>::Share(&owner) : producer_,
      slot_);
  return with_history;
}

void SavedTensor::Release() {
  if (kind_ == Kind::kNothing) return;  // an absent argument stays absent
  *this = SavedTensor();
  kind_ = Kind::kReleased;
}

}  // namespace proa::inline v0::autograd
