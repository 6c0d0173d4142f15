#include "autograd/node.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "autograd/node_extras.h"

namespace proa::inline v0::autograd {
namespace internal {

thread_local constinit SequenceBlock sequence_block;
thread_local constinit PrunedNode pruned_node;

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

int64_t Node::AddHook(uint32_t slot, TensorHook hook) {
  static std::atomic<int64_t> next_id{1};
  int64_t id = next_id.fetch_add(1, std::memory_order_relaxed);
  GetExtras().hooks.push_back(
      {id, slot, std::make_shared<const TensorHook>(std::move(hook))});
  return id;
}

bool Node::RemoveHook(int64_t id) {
  if (extras_ == nullptr) return false;
  return std::erase_if(extras_->hooks,
                       [id](const auto& h) { return h.id == id; }) != 0;
}

}  // namespace proa::inline v0::autograd
