// Node::Extras: what few nodes have, the hooks on their gradients, the tensors
// that retain them, and in anomaly mode the place of the forward call. Internal
// to this room.
#ifndef PROA_AUTOGRAD_NODE_EXTRAS_H_
#define PROA_AUTOGRAD_NODE_EXTRAS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/node.h"

namespace proa::inline v0::autograd {

class GradState;

// Where a node was recorded (anomaly mode).
struct ForwardRecord {
  ForwardTrace trace;  // may be empty
  // Of a node that a formula recorded (create_graph): that formula's op, and
  // where that op was called.
  std::string formula_of;
  std::shared_ptr<const ForwardRecord> cause;
};

struct Node::Extras {
  // The functions are shared, so that a hook may remove itself while it runs.
  struct Hook {
    int64_t id;
    uint32_t slot;
    std::shared_ptr<const TensorHook> call;
  };
  struct PreHook {
    int64_t id;
    std::shared_ptr<const NodePreHook> call;
  };
  struct PostHook {
    int64_t id;
    std::shared_ptr<const NodePostHook> call;
  };
  struct Retained {
    uint32_t slot;
    GradState* state;  // takes itself out when it goes
  };
  std::vector<Hook> hooks;
  std::vector<PreHook> pre_hooks;
  std::vector<PostHook> post_hooks;
  std::shared_ptr<const ForwardRecord> forward;
  // Tensors come and go while another thread runs backward.
  std::mutex mu;
  std::vector<Retained> retained;  // guarded by mu
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_NODE_EXTRAS_H_
