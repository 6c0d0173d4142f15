// A program that vendors autograd/ (and tensor/ below it) and differentiates
// its own kind of number, fractions, twice. Of Proa's ops it has none.
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/host_scalar.h"
#include "autograd/saved_tensor.h"

namespace {

using proa::Tensor;
using proa::autograd::HostScalar;
using proa::autograd::HostValue;

struct Fraction {
  Fraction(int64_t n, int64_t d)
      : over(n / std::gcd(n, d)), under(d / std::gcd(n, d)) {}
  int64_t over, under;
};

Fraction operator*(Fraction a, Fraction b) {
  return {a.over * b.over, a.under * b.under};
}
Fraction operator+(Fraction a, Fraction b) {
  return {a.over * b.under + b.over * a.under, a.under * b.under};
}

Tensor Product(const Tensor& a, const Tensor& b);

// The gradient of each factor is the other; as a call of Product, it can be
// differentiated itself.
class ProductNode final : public proa::autograd::Node {
 public:
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (needs_input_grad(0)) input_grads[0] = Product(grads[0], b.Get(*this));
    if (needs_input_grad(1)) input_grads[1] = Product(grads[0], a.Get(*this));
  }
  const char* name() const override { return "product"; }
  void ReleaseSaved() override {
    a.Release();
    b.Release();
  }
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
void Record(proa::IntrusivePtr<Node> node, const Tensor& a, const Tensor& b,
            const Tensor& out) {
  node->AddEdge(proa::autograd::GradEdge(a));
  node->AddEdge(proa::autograd::GradEdge(b));
  proa::autograd::SetHistory(out, std::move(node), 0);
}

Tensor Product(const Tensor& a, const Tensor& b) {
  Tensor out = HostScalar(HostValue<Fraction>(a) * HostValue<Fraction>(b));
  if (Records(a, b)) {
    auto node = proa::autograd::MakeNode<ProductNode>();
    node->a = proa::autograd::SavedTensor(a);
    node->b = proa::autograd::SavedTensor(b);
    Record(std::move(node), a, b, out);
  }
  return out;
}

Tensor Sum(const Tensor& a, const Tensor& b) {
  Tensor out = HostScalar(HostValue<Fraction>(a) + HostValue<Fraction>(b));
  if (Records(a, b)) Record(proa::autograd::MakeNode<SumNode>(), a, b, out);
  return out;
}

}  // namespace

int main() {
  // Values do not change, so that nothing is added in place, and a copy is the
  // same.
  proa::autograd::InstallGradOps({.add = Sum,
                                  .ones_like =
                                      [](const Tensor&) {
                                        return HostScalar(Fraction{1, 1});
                                      },
                                  .zeros_like =
                                      [](const Tensor&) {
                                        return HostScalar(Fraction{0, 1});
                                      },
                                  .copy = [](const Tensor& t) { return t; }});
  const Tensor x = HostScalar(Fraction{1, 3});
  proa::autograd::SetRequiresGrad(x, true);
  const Tensor cube = Product(x, Product(x, x));
  const Tensor first = proa::autograd::Grad(
      {&cube, 1}, {&x, 1}, {}, {.retain_graph = true, .create_graph = true},
      false, {})[0];
  proa::autograd::Backward({&first, 1}, {}, {});
  const auto& d = HostValue<Fraction>(first);                        // 3 x^2
  const auto& dd = HostValue<Fraction>(proa::autograd::GetGrad(x));  // 6 x
  std::printf("%lld/%lld %lld\n", static_cast<long long>(d.over),
              static_cast<long long>(d.under), static_cast<long long>(dd.over));
}
