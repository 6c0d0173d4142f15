#include "profiler/folded_stacks.h"

#include <map>
#include <string>
#include <vector>

#include "profiler/statistics.h"
#include "profiler/text.h"
#include "profiler/track_ids.h"

namespace proa::inline v0::profiler {
namespace {

std::string Plain(std::string_view name) {
  std::string out = ValidUtf8(name);
  for (char& c : out) {
    if (c == ';' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace

absl::Status WriteFoldedStacks(const Recording& recording, Output& output) {
  const std::vector<CallNode> nodes =
      CallTree(recording, size_t{1} << 20, /*devices=*/false);
  // Threads of one name share their lines.
  std::map<std::string, int64_t> lines;
  std::vector<std::string> stack_of(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const CallNode& node = nodes[i];
    const std::string around =
        node.parent == i ? Plain(TrackName(recording.threads[node.thread]))
                         : stack_of[node.parent];
    stack_of[i] = around + ";" + Plain(node.name);
    lines[stack_of[i]] += node.self_ns;
  }
  for (const auto& [stack, ns] : lines) {
    const int64_t us = (ns + 500) / 1000;
    if (us > 0) output.Append(stack + " " + std::to_string(us) + "\n");
  }
  return absl::OkStatus();
}

}  // namespace proa::inline v0::profiler
