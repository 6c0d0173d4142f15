#include "autograd/saved_tensor.h"

#include <memory>
#include <utility>

#include "autograd/grad_state.h"
#include "autograd/recomputing_node.h"
#include "autograd/saved_tensor_hooks.h"
#include "autograd/saved_views.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/place.h"
#include "tensor/shape.h"

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
  const bool part = t.storage() && t.bytes() < t.storage()->bytes();
  Fail(absl::StatusCode::kFailedPrecondition, "backward: a tensor saved for ",
       owner.name(), "'s backward was changed in place by ",
       writer != nullptr ? writer : "an op without a name", "; it is ",
       Describe(t), ", was saved at version ", saved, " and is at version ",
       t.version(),
       part ? "; it is a part (a view) of a larger tensor, and a change of any "
              "part counts: make the parts apart and join them (stack, concat)"
            : "; change a copy (clone)",
       ", or change it after backward");
}

// What makes `input`, which came from there, again; or null.
RecomputingNode* RecomputingProducer(const Tensor& input, const Edge& from) {
  if (!from.node || !from.node->recomputes()) [[likely]]
    return nullptr;
  auto* node = static_cast<RecomputingNode*>(from.node.get());
  return node->Gives(input, from.slot) ? node : nullptr;
}

}  // namespace

// What only some need: what hooks made of it; or, of a view, its place among
// those that are kept of its storage.
struct SavedTensor::Packed {
  static bool Is(const SavedTensor& t) {
    return t.packed_ && t.packed_->hooks != nullptr;
  }
  static void NoteView(SavedTensor& t) {
    if (!t.alias_.storage() || t.alias_.layout() != Layout::kStrided) return;
    t.packed_.reset(new Packed);
    t.packed_->view.Enter(t.alias_);
  }
  // Which the elements have now if nobody changed them.
  static uint32_t Version(const SavedTensor& t) {
    return t.packed_ && t.packed_->view.preserved() ? 0 : t.version_;
  }

  TensorMeta meta;
  std::shared_ptr<const PackFunctions> hooks;  // null: nothing is packed
  std::shared_ptr<void> kept;
  SavedView view;
};

void SavedTensor::PackedDeleter::operator()(Packed* packed) const {
  delete packed;
}

const TensorMeta* SavedTensor::packed() const {
  return Packed::Is(*this) ? &packed_->meta : nullptr;
}

void SavedTensor::Keep(const Tensor& t, Kind kind) {
  alias_ = Detach(t);
  version_ = t.version();
  kind_ = kind;
  if (t.is_view() && !internal::has_saved_tensor_hooks) [[unlikely]]
    Packed::NoteView(*this);
}

// Of what `from` leads to.
void SavedTensor::KeepInput(const Tensor& input, Kind kind, const Edge& from) {
  if (internal::has_saved_tensor_hooks) [[unlikely]] {
    Keep(input, kind);
    Pack(from.node.get());
  } else if (RecomputingNode* producer = RecomputingProducer(input, from))
      [[unlikely]] {
    producer->NoteReliance();
    kind_ = kind;
  } else {
    Keep(input, kind);
  }
}

SavedTensor::SavedTensor(const Tensor& input) {
  if (!input.defined()) return;
  Edge edge = GradEdge(input);
  KeepInput(input, Kind::kInput, edge);
  producer_ = std::move(edge.node);
  slot_ = edge.slot;
}

SavedTensor::SavedTensor(const Tensor& input, const Node& owner, int edge) {
  if (!input.defined()) return;
  KeepInput(input, Kind::kInputOfEdge, owner.edges()[edge]);
  slot_ = static_cast<uint32_t>(edge);
}

SavedTensor SavedTensor::OfRecomputedOutput() {
  SavedTensor saved;
  saved.kind_ = Kind::kOutput;
  return saved;
}

SavedTensor::SavedTensor(const Tensor& output, uint32_t slot) {
  if (!output.defined()) return;
  Keep(output, Kind::kOutput);
  slot_ = slot;
  if (internal::has_saved_tensor_hooks) [[unlikely]]
    Pack(nullptr);
}

void SavedTensor::Pack(const Node* producer) {
  const bool leaf = producer != nullptr && producer->is_accumulate_grad();
  if (leaf || alias_.is_symbolic()) return;
  const InterpreterScope plain =
      InterpreterScope::Forbid(kDifferentiate | kAutocast);
  std::unique_ptr<Packed, PackedDeleter> packed(new Packed);
  packed->meta = {alias_.shape(), alias_.dtype(), alias_.place()};
  packed->hooks = internal::InnermostSavedTensorHooks();
  // A handle for the hook alone: it may do with it what it likes.
  Tensor given = Detach(alias_);
  const Storage* storage = alias_.storage().get();
  const int32_t users = storage != nullptr ? storage->use_count() : 0;
  packed->kept = packed->hooks->pack(given);
  given = Tensor();
  packed_ = std::move(packed);
  // If what was returned holds these very elements, then they may be held here
  // too, to notice a change in place.
  const bool kept = storage != nullptr && storage->use_count() >= users;
  if (!kept) alias_ = Tensor();
}

Tensor SavedTensor::Unpack(const Node& owner) const {
  const InterpreterScope plain =
      InterpreterScope::Forbid(kDifferentiate | kAutocast);
  const TensorMeta& meta = packed_->meta;
  const Tensor got = packed_->hooks->unpack(packed_->kept);
  if (!got.defined() || got.shape() != meta.shape ||
      got.dtype() != meta.dtype || got.place() != meta.place) {
    FailArgument("saved_tensors_hooks: unpack returned ", Describe(got),
                 " for a tensor saved for ", owner.name(),
                 "'s backward that is ", ToString(meta.shape), " ",
                 Name(meta.dtype), " on ", ToString(meta.place));
  }
  return Detach(got);
}

Edge SavedTensor::History(Node& owner) const {
  switch (kind_) {
    case Kind::kOutput:
      return {IntrusivePtr<Node>::Share(&owner), slot_};
    case Kind::kInputOfEdge:
      return owner.edges()[slot_];
    default:
      return {producer_, slot_};
  }
}

Tensor SavedTensor::Recompute(Node& owner) const {
  const Edge history = History(owner);
  return static_cast<RecomputingNode*>(history.node.get())->Recomputed();
}

Tensor SavedTensor::Get(Node& owner) const {
  if (kind_ == Kind::kReleased) [[unlikely]]
    FailReleased(owner);
  if (kind_ == Kind::kNothing) return {};
  // A formula that is recorded reads a parameter when the program runs: what it
  // was given meanwhile (a loaded value, a step) is what it shall read.
  if (alias_.defined() && alias_.version() != Packed::Version(*this) &&
      (alias_.is_symbolic() || (thread_interpreters.forced & kRecord) == 0))
      [[unlikely]]
    FailChanged(owner, alias_, version_);
  const bool unchanged = !Packed::Is(*this);
  Tensor got = alias_;
  if (!unchanged) {
    got = Unpack(owner);
  } else if (!got.defined()) [[unlikely]] {
    got = Recompute(owner);
  }
  if (!GradEnabled()) return got;
  Edge history = History(owner);
  if (!history.node) return got;
  if (unchanged) got = Detach(got);
  SetHistory(got, std::move(history.node), history.slot);
  return got;
}

void SavedTensor::Release() {
  if (kind_ == Kind::kNothing) return;  // an absent argument stays absent
  packed_ = nullptr;                    // before the view that it knows of
  *this = SavedTensor();
  kind_ = Kind::kReleased;
}

}  // namespace proa::inline v0::autograd
