// Node::Extras: what few nodes have, the hooks on their gradients and the
// tensors that retain them. Internal to this room.
#ifndef PROA_AUTOGRAD_NODE_EXTRAS_H_
#define PROA_AUTOGRAD_NODE_EXTRAS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "autograd/node.h"

namespace proa::inline v0::autograd {

class GradState;

struct Node::Extras {
  struct Hook {
    int64_t id;
    uint32_t slot;
    // Shared, so that a hook may remove itself while it runs.
    std::shared_ptr<const TensorHook> call;
  };
  struct Retained {
    uint32_t slot;
    GradState* state;  // takes itself out when it goes
  };
  std::vector<Hook> hooks;
  // Tensors come and go while another thread runs backward.
  std::mutex mu;
  std::vector<Retained> retained;  // guarded by mu
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_NODE_EXTRAS_H_
