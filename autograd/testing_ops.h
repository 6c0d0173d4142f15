// A handful of ops on small float64 CPU tensors, with nodes written by hand, so
// that the engine is tested without //ops. For tests and benchmarks of this
// room; they also show what a generated node looks like.
//
// The ops record when grad is enabled and an argument requires grad. Given
// symbolic tensors, they write their text as the symbol of the result: "mul(x,
// y)".
#ifndef PROA_AUTOGRAD_TESTING_OPS_H_
#define PROA_AUTOGRAD_TESTING_OPS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd::testing {

// Installs these ops as the engine's GradOps.
void InstallTestOps();

Tensor Make(std::vector<double> values);  // [n] float64
Tensor Leaf(std::vector<double> values);  // requires grad
Tensor MakeSymbol(std::string text, const Shape& shape);
std::vector<double> Values(const Tensor& t);
std::string Text(const Tensor& symbolic);

Tensor Add(const Tensor& x, const Tensor& y);  // of equal shapes
Tensor Mul(const Tensor& x, const Tensor& y);  // saves both inputs
Tensor Exp(const Tensor& x);                   // saves its output
// The first and second half of x: a node with two outputs.
std::pair<Tensor, Tensor> Split(const Tensor& x);
// A view of all of x, and of `count` elements from `first` on.
Tensor View(const Tensor& x);
Tensor Part(const Tensor& x, int64_t first, int64_t count);
Tensor Clone(const Tensor& x);
// x *= y and x += y in place, with history. A gradient of y in the first needs
// the x that was overwritten.
void MulInplace(const Tensor& x, const Tensor& y);
void AddInplace(const Tensor& x, const Tensor& y);

// Nodes of these ops that are alive, and how often a formula ran.
extern std::atomic<int> live_nodes;
extern std::atomic<int> formula_runs;

class CountedNode : public Node {
 public:
  CountedNode() { ++live_nodes; }
  ~CountedNode() override { --live_nodes; }
};

// Runs `formula(grads, input_grads)`; saves nothing.
class LambdaNode final : public CountedNode {
 public:
  using Formula =
      std::function<void(std::span<const Tensor>, std::span<Tensor>)>;
  explicit LambdaNode(Formula formula) : formula_(std::move(formula)) {}
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    formula_(grads, input_grads);
  }
  const char* name() const override { return "lambda"; }

 private:
  Formula formula_;
};
// x's elements with a LambdaNode as history.
Tensor WithFormula(const Tensor& x, LambdaNode::Formula formula);

}  // namespace proa::inline v0::autograd::testing

#endif  // PROA_AUTOGRAD_TESTING_OPS_H_
