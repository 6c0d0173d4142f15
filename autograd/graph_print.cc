#include "autograd/graph_print.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "autograd/accumulate_grad.h"
#include "autograd/graph_walk.h"
#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace proa::inline v0::autograd {
namespace {

// The ops that are shown, and their numbers.
struct Shown {
  std::vector<Node*> nodes;
  absl::flat_hash_map<const Node*, size_t> number;  // from 1
  size_t hidden = 0;
};

Shown Choose(std::span<const Tensor> outputs, size_t max_nodes) {
  Shown shown;
  GraphWalk walk(outputs);
  while (Node* node = walk.Next()) {
    if (node->is_accumulate_grad()) continue;
    if (max_nodes != 0 && shown.nodes.size() == max_nodes) {
      ++shown.hidden;
      continue;
    }
    shown.nodes.push_back(node);
    shown.number[node] = shown.nodes.size();
  }
  return shown;
}

std::string MetaText(const Shape& shape, DType dtype) {
  return absl::StrCat(ToString(shape), " ", std::string(Name(dtype)));
}

// "leaf w [2, 3] float32"
std::string LeafText(Node* node, const GraphPrintOptions& options) {
  std::string text = "leaf that is gone";
  static_cast<AccumulateGrad*>(node)->LookAtLeaf([&](const TensorImpl& leaf) {
    const std::string name =
        options.leaf_name ? options.leaf_name(leaf) : std::string();
    text = absl::StrCat("leaf ", name, name.empty() ? "" : " ",
                        MetaText(leaf.shape, leaf.dtype));
  });
  return text;
}

// "x [2, 3] float32, out [3] float32 (36 bytes)"
std::string SavedText(const Node& node) {
  std::string text;
  int64_t bytes = 0;
  absl::flat_hash_set<const Storage*> counted;
  node.VisitSaved([&](const char* name, const SavedTensor& saved) {
    const Tensor& t = saved.tensor();
    if (!t.defined() && saved.packed() == nullptr) return;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ");
    if (const TensorMeta* meta = saved.packed()) {
      absl::StrAppend(&text, MetaText(meta->shape, meta->dtype), " (packed)");
      return;
    }
    text += Describe(t);
    if (t.storage() && counted.insert(t.storage().get()).second) {
      bytes += t.storage()->bytes();
    }
  });
  if (bytes != 0) absl::StrAppend(&text, " (", bytes, " bytes)");
  return text;
}

std::string InputText(const Node& node, size_t i) {
  const std::string name = node.InputName(static_cast<int>(i));
  return name.empty() ? absl::StrCat("input ", i) : name;
}

// `text` between the quotes of a DOT string.
std::string Quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string GraphText(std::span<const Tensor> outputs,
                      const GraphPrintOptions& options) {
  const Shown shown = Choose(outputs, options.max_nodes);
  std::string text;
  for (size_t n = 0; n < shown.nodes.size(); ++n) {
    const Node& node = *shown.nodes[n];
    absl::StrAppend(&text, "#", n + 1, " ", node.name());
    const std::string saved = SavedText(node);
    absl::StrAppend(&text, saved.empty() ? "" : ", saves ", saved, "\n");
    std::span<const Edge> edges = node.edges();
    for (size_t i = 0; i < edges.size(); ++i) {
      absl::StrAppend(&text, "  ", InputText(node, i), ": ");
      Node* to = edges[i].node.get();
      if (to == nullptr) {
        text += "no gradient";
      } else if (to->is_accumulate_grad()) {
        text += LeafText(to, options);
      } else if (auto it = shown.number.find(to); it != shown.number.end()) {
        absl::StrAppend(&text, "#", it->second, " ", to->name());
      } else {
        absl::StrAppend(&text, to->name(), ", not shown");
      }
      if (to != nullptr && to->num_outputs() > 1) {
        absl::StrAppend(&text, ", output ", edges[i].slot);
      }
      text += "\n";
    }
  }
  if (shown.hidden != 0) {
    absl::StrAppend(&text, "and ", shown.hidden, " more (max_nodes)\n");
  }
  // No op at all: the outputs are leaves, or require no grad.
  if (text.empty()) {
    GraphWalk walk(outputs);
    while (Node* node = walk.Next()) {
      absl::StrAppend(&text, LeafText(node, options), "\n");
    }
  }
  return text;
}

std::string GraphDot(std::span<const Tensor> outputs,
                     const GraphPrintOptions& options) {
  const Shown shown = Choose(outputs, options.max_nodes);
  std::string text = "digraph backward {\n  node [shape=box];\n";
  absl::flat_hash_map<const Node*, size_t> leaves;
  const auto leaf_number = [&](Node* leaf) {
    const auto [it, is_new] = leaves.try_emplace(leaf, leaves.size() + 1);
    if (is_new) {
      absl::StrAppend(&text, "  leaf", it->second,
                      " [shape=ellipse, style=filled, label=\"",
                      Quoted(LeafText(leaf, options)), "\"];\n");
    }
    return it->second;
  };
  bool cut = false;
  for (size_t n = 0; n < shown.nodes.size(); ++n) {
    const Node& node = *shown.nodes[n];
    const std::string saved = SavedText(node);
    absl::StrAppend(&text, "  n", n + 1, " [label=\"", Quoted(node.name()),
                    saved.empty() ? "" : "\\nsaves ", Quoted(saved), "\"];\n");
    std::span<const Edge> edges = node.edges();
    for (size_t i = 0; i < edges.size(); ++i) {
      Node* to = edges[i].node.get();
      if (to == nullptr) continue;
      std::string target;
      if (to->is_accumulate_grad()) {
        target = absl::StrCat("leaf", leaf_number(to));
      } else if (auto it = shown.number.find(to); it != shown.number.end()) {
        target = absl::StrCat("n", it->second);
      } else {
        target = "more";
        cut = true;
      }
      absl::StrAppend(&text, "  n", n + 1, " -> ", target, " [label=\"",
                      Quoted(InputText(node, i)), "\"];\n");
    }
  }
  if (cut) {
    absl::StrAppend(&text, "  more [shape=plaintext, label=\"", shown.hidden,
                    " more\"];\n");
  }
  if (shown.nodes.empty()) {
    GraphWalk walk(outputs);
    while (Node* node = walk.Next()) leaf_number(node);
  }
  text += "}\n";
  return text;
}

}  // namespace proa::inline v0::autograd
