#include "autograd/saved_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "autograd/graph_walk.h"
#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "tensor/dtype.h"
#include "tensor/storage.h"

namespace proa::inline v0::autograd {
namespace {

using Group = SavedSummary::Group;

Group GroupOf(const Node& owner, const SavedTensor& saved) {
  if (!saved.tensor().defined()) return Group::kPacked;
  if (saved.kind() == SavedTensor::Kind::kOutput) return Group::kActivation;
  const Node* producer = saved.producer(owner);
  if (producer == nullptr) return Group::kConstant;
  return producer->is_accumulate_grad() ? Group::kLeaf : Group::kActivation;
}

// Of two groups that a storage was found in, the one that tells who else holds
// it.
Group Stronger(Group a, Group b) {
  if (a == Group::kLeaf || b == Group::kLeaf) return Group::kLeaf;
  return a == Group::kConstant ? a : b;
}

template <typename F>
void ForEachSaved(std::span<const Tensor> outputs, F f) {
  GraphWalk walk(outputs);
  while (Node* node = walk.Next()) {
    node->VisitSaved([&](const char* name, const SavedTensor& saved) {
      if (saved.tensor().defined() || saved.packed() != nullptr) {
        f(*node, name, saved);
      }
    });
  }
}

}  // namespace

int64_t SavedSummary::bytes(Group group) const {
  int64_t sum = 0;
  for (const Row& row : rows) sum += row.group == group ? row.bytes : 0;
  return sum;
}

SavedSummary SummarizeSaved(std::span<const Tensor> outputs) {
  // A parameter may be saved by itself, and as a view that has a producer.
  struct Found {
    Group group;
    bool counted = false;
  };
  absl::flat_hash_map<const Storage*, Found> found;
  ForEachSaved(
      outputs, [&](const Node& node, const char*, const SavedTensor& saved) {
        const Storage* storage =
            saved.tensor().defined() ? saved.tensor().storage().get() : nullptr;
        if (storage == nullptr) return;
        const Group group = GroupOf(node, saved);
        const auto [it, is_new] = found.try_emplace(storage, Found{group});
        if (!is_new) it->second.group = Stronger(it->second.group, group);
      });

  SavedSummary summary;
  std::map<std::tuple<Group, std::string, std::string>, SavedSummary::Row> rows;
  ForEachSaved(outputs, [&](const Node& node, const char* name,
                            const SavedTensor& saved) {
    Group group = GroupOf(node, saved);
    int64_t bytes = 0;
    if (const Storage* storage = saved.tensor().defined()
                                     ? saved.tensor().storage().get()
                                     : nullptr) {
      Found& of = found.at(storage);
      group = of.group;
      bytes = of.counted ? 0 : storage->bytes();
      of.counted = true;
    } else if (const TensorMeta* meta = saved.packed()) {
      bytes = meta->shape.numel() * ItemSize(meta->dtype);
    }
    SavedSummary::Row& row = rows[{group, node.name(), name}];
    row.group = group;
    row.op = node.name();
    row.name = name;
    ++row.tensors;
    row.bytes += bytes;
  });
  for (auto& [key, row] : rows) summary.rows.push_back(std::move(row));
  std::ranges::stable_sort(summary.rows, [](const auto& a, const auto& b) {
    return std::tuple(a.group, -a.bytes) < std::tuple(b.group, -b.bytes);
  });
  GraphWalk walk(outputs);
  while (const Node* node = walk.Next()) {
    summary.nodes += node->is_accumulate_grad() ? 0 : 1;
  }
  return summary;
}

}  // namespace proa::inline v0::autograd
