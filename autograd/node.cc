#include "autograd/node.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "autograd/node_extras.h"

namespace proa::inline v0::autograd {
namespace internal {

thread_local constinit SequenceBlock sequence_block;
thread_local constinit PrunedNode pruned_node;
thread_local constinit const Node* traced_node = nullptr;

void RefillSequenceBlock() {
  // Large enough to keep threads apart, small enough that "larger = made later"
  // nearly holds between threads too. Only the order of work depends on it.
  constexpr uint64_t kBlock = 256;
  static std::atomic<uint64_t> next{1};
  sequence_block.next = next.fetch_add(kBlock, std::memory_order_relaxed);
  sequence_block.end = sequence_block.next + kBlock;
}

namespace {
// Nodes without references, found while another node is being destroyed.
thread_local constinit Node* doomed = nullptr;
thread_local constinit bool destroying = false;
}  // namespace
}  // namespace internal

// A destructor drops edges and saved tensors, and with them perhaps the last
// reference to further nodes. They arrive here again and wait in a list, so
// that the depth of the C++ stack does not follow the length of the graph.
void Node::Destroy(Node* node) {
  if (internal::destroying) {
    node->scratch_.next_doomed = internal::doomed;
    internal::doomed = node;
    return;
  }
  internal::destroying = true;
  while (node != nullptr) {
    delete node;
    node = internal::doomed;
    if (node != nullptr) internal::doomed = node->scratch_.next_doomed;
  }
  internal::destroying = false;
}

Node::Extras& Node::GetExtras() {
  if (extras_ == nullptr) extras_ = new Extras;
  return *extras_;
}

void Node::DestroyExtras() { delete extras_; }

namespace {

int64_t NewHookId() {
  static std::atomic<int64_t> next_id{1};
  return next_id.fetch_add(1, std::memory_order_relaxed);
}

template <typename Hooks>
bool EraseHook(Hooks& hooks, int64_t id) {
  return std::erase_if(hooks, [id](const auto& h) { return h.id == id; }) != 0;
}

}  // namespace

int64_t Node::AddHook(uint32_t slot, TensorHook hook) {
  const int64_t id = NewHookId();
  GetExtras().hooks.push_back(
      {id, slot, std::make_shared<const TensorHook>(std::move(hook))});
  return id;
}

int64_t Node::AddPreHook(NodePreHook hook) {
  const int64_t id = NewHookId();
  GetExtras().pre_hooks.push_back(
      {id, std::make_shared<const NodePreHook>(std::move(hook))});
  return id;
}

int64_t Node::AddPostHook(NodePostHook hook) {
  const int64_t id = NewHookId();
  GetExtras().post_hooks.push_back(
      {id, std::make_shared<const NodePostHook>(std::move(hook))});
  return id;
}

bool Node::RemoveHook(int64_t id) {
  return extras_ != nullptr &&
         (EraseHook(extras_->hooks, id) || EraseHook(extras_->pre_hooks, id) ||
          EraseHook(extras_->post_hooks, id));
}

void Node::VisitHooks(
    const std::function<void(const TensorHook&)>& tensor_hook,
    const std::function<void(const NodePreHook&)>& pre_hook,
    const std::function<void(const NodePostHook&)>& post_hook) const {
  if (extras_ == nullptr) return;
  for (const auto& h : extras_->hooks) tensor_hook(*h.call);
  for (const auto& h : extras_->pre_hooks) pre_hook(*h.call);
  for (const auto& h : extras_->post_hooks) post_hook(*h.call);
}

void Node::RecordForwardPlace() {
  auto record = std::make_shared<ForwardRecord>();
  if (auto* trace = InstalledAnomalyHandlers().trace) record->trace = trace();
  if (const Node* formula = internal::traced_node) {
    record->formula_of = formula->name();
    if (formula->extras_ != nullptr) record->cause = formula->extras_->forward;
  }
  GetExtras().forward = std::move(record);
}

std::string Node::ForwardPlace() const {
  if (extras_ == nullptr || extras_->forward == nullptr) return {};
  std::string text;
  // Made by a formula: what matters is the op of the user's that it belongs to.
  const ForwardRecord* record = extras_->forward.get();
  while (!record->formula_of.empty() && record->cause != nullptr) {
    text += "in the backward of " + record->formula_of + ", which was called\n";
    record = record->cause.get();
  }
  if (record->trace) text += record->trace();
  return text;
}

}  // namespace proa::inline v0::autograd
