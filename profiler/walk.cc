#include "profiler/walk.h"

#include <algorithm>
#include <string_view>

namespace proa::inline v0::profiler {
namespace {

// Forward ops that made grad nodes, by the number of the last node.
class ForwardOps {
 public:
  explicit ForwardOps(const Recording& r) {
    for (const Event& e : r.events) {
      if (e.kind == EventKind::kRange && e.correlation != 0 &&
          std::string_view(e.category) == "op") {
        ops_.push_back(&e);
      }
    }
    std::sort(ops_.begin(), ops_.end(), [](const Event* a, const Event* b) {
      return a->correlation < b->correlation;
    });
  }
  // The op that made node `number`; null if it was not recorded.
  const Event* MakerOf(uint64_t number) const {
    const auto at = std::lower_bound(
        ops_.begin(), ops_.end(), number,
        [](const Event* e, uint64_t n) { return e->correlation < n; });
    return at == ops_.end() ? nullptr : *at;
  }

 private:
  std::vector<const Event*> ops_;
};

class Walker {
 public:
  Walker(const Recording& r, const WalkFunctions& functions)
      : r_(r), f_(functions), forward_(r), stacks_(r.threads.size()) {}

  void Run() {
    for (const Event& e : r_.events) {
      std::vector<Frame>& stack = stacks_[e.thread];
      if (e.kind == EventKind::kAsync) continue;
      Close(stack, e.start_ns);
      if (e.kind == EventKind::kRange) {
        Open(stack, e);
      } else if (f_.moment) {
        f_.moment(e, stack);
      }
    }
    for (std::vector<Frame>& stack : stacks_) Close(stack, INT64_MAX);
  }

 private:
  // Ends the ranges that are over at `ns`.
  void Close(std::vector<Frame>& stack, int64_t ns) {
    while (!stack.empty() && stack.back().event->end_ns <= ns) {
      const Event& e = *stack.back().event;
      const int64_t duration = e.end_ns - e.start_ns;
      if (f_.leave) {
        f_.leave({&e, stack, duration, duration - stack.back().children_ns});
      }
      stack.pop_back();
    }
  }

  void Open(std::vector<Frame>& stack, const Event& e) {
    Frame frame{.event = &e, .path = e.path};
    if (e.details != nullptr) frame.source = e.details->source;
    if (std::string_view(e.category) == "backward") {
      frame.backward = true;
      if (const Event* op = forward_.MakerOf(e.correlation)) {
        frame.path = op->path;
        if (op->details != nullptr) frame.source = op->details->source;
      }
    }
    if (!stack.empty()) {
      Frame& around = stack.back();
      // Only the last of the ranges around can be shorter than this one.
      around.children_ns +=
          std::min(e.end_ns, around.event->end_ns) - e.start_ns;
      frame.backward |= around.backward;
      if (around.backward && around.path != nullptr) frame.path = around.path;
      if (around.backward && around.source != nullptr) {
        frame.source = around.source;
      }
      if (frame.path == nullptr) frame.path = around.path;
      if (frame.source == nullptr) frame.source = around.source;
    }
    stack.push_back(frame);
    if (f_.enter) stack.back().user = f_.enter(stack);
  }

  const Recording& r_;
  const WalkFunctions& f_;
  const ForwardOps forward_;
  std::vector<std::vector<Frame>> stacks_;  // by thread
};

}  // namespace

void Walk(const Recording& recording, const WalkFunctions& functions) {
  Walker(recording, functions).Run();
}

}  // namespace proa::inline v0::profiler
