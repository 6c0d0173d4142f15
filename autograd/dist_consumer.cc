// A program that vendors autograd/ (and tensor/ below it): it brings its own
// op, the square of a scalar, and derives it twice.
#include <cstdio>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/saved_tensor.h"

namespace {

using proa::Tensor;

Tensor Product(const Tensor& a, const Tensor& b);

class ProductNode final : public proa::autograd::Node {
 public:
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (needs_input_grad(0)) input_grads[0] = Product(grads[0], b.Get(*this));
    if (needs_input_grad(1)) input_grads[1] = Product(grads[0], a.Get(*this));
  }
  const char* name() const override { return "product"; }
  proa::autograd::SavedTensor a, b;
};

class SumNode final : public proa::autograd::Node {
 public:
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    for (Tensor& g : input_grads) g = grads[0];
  }
  const char* name() const override { return "sum"; }
};

bool Records(const Tensor& a, const Tensor& b) {
  return (proa::ActiveInterpreters(a.flags() | b.flags()) &
          proa::kDifferentiate) != 0;
}

template <typename Node>
void Record(const proa::IntrusivePtr<Node>& node, const Tensor& a,
            const Tensor& b, const Tensor& out) {
  node->AddEdge(proa::autograd::GradEdge(a));
  node->AddEdge(proa::autograd::GradEdge(b));
  proa::autograd::SetHistory(out, node, 0);
}

Tensor Product(const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::Scalar(*a.data<double>() * *b.data<double>());
  if (!Records(a, b)) return out;
  auto node = proa::autograd::MakeNode<ProductNode>();
  node->a = proa::autograd::SavedTensor(a);
  node->b = proa::autograd::SavedTensor(b);
  Record(node, a, b, out);
  return out;
}

Tensor Sum(const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::Scalar(*a.data<double>() + *b.data<double>());
  if (Records(a, b)) {
    Record(proa::autograd::MakeNode<SumNode>(), a, b, out);
  }
  return out;
}

}  // namespace

int main() {
  proa::autograd::InstallGradOps(
      {.add = Sum,
       .add_inplace =
           [](Tensor& a, const Tensor& b) {
             *a.data<double>() += b.item<double>();
           },
       .ones_like = [](const Tensor&) { return Tensor::Scalar(1.0); },
       .zeros_like = [](const Tensor&) { return Tensor::Scalar(0.0); }});
  const Tensor x = Tensor::Scalar(3.0);
  proa::autograd::SetRequiresGrad(x, true);
  const Tensor square = Product(x, x);
  const Tensor first = proa::autograd::Grad(
      {&square, 1}, {&x, 1}, {}, {.retain_graph = true, .create_graph = true},
      false, {})[0];
  proa::autograd::Backward({&first, 1}, {}, {});
  std::printf("%g %g\n", first.item<double>(),
              proa::autograd::GetGrad(x).item<double>());
}
