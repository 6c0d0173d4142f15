// A backward graph as text or in the DOT language, for people. Looks at the
// graph and changes nothing; a graph of a million nodes is ordinary.
//
//   std::cout << GraphText({&loss, 1});
//
//   #1 sum
//     x: #2 multiply
//   #2 multiply, saves x [2, 3] float32, y [3] float32 (36 bytes)
//     x: leaf w [2, 3] float32
//     y: no gradient
#ifndef PROA_AUTOGRAD_GRAPH_PRINT_H_
#define PROA_AUTOGRAD_GRAPH_PRINT_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

struct GraphPrintOptions {
  // Of the ops that backward would run first; 0: no bound. The rest is counted.
  size_t max_nodes = 200;
  // What the host calls a leaf; "" or no function: it has no name. Called with
  // the leaf alive, under a lock: it must not touch gradients.
  std::function<std::string(const TensorImpl& leaf)> leaf_name;
};

// A paragraph for each op, in the order in which backward runs them: its
// number, its name, what it saved, and where the gradient of each input goes.
std::string GraphText(std::span<const Tensor> outputs,
                      const GraphPrintOptions& options = {});
// The same as a directed graph, from outputs to leaves, for Graphviz.
std::string GraphDot(std::span<const Tensor> outputs,
                     const GraphPrintOptions& options = {});

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_GRAPH_PRINT_H_
