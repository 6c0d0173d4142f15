#include "autograd/testing_ops.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "autograd/inplace.h"
#include "autograd/region.h"
#include "autograd/saved_tensor.h"

namespace proa::inline v0::autograd::testing {

std::atomic<int> live_nodes{0};
std::atomic<int> formula_runs{0};

namespace {

struct TextSymbol : TensorExtension {
  explicit TextSymbol(std::string t) : text(std::move(t)) {}
  std::string text;
};

bool Records(Interpreters flags) {
  return (ActiveInterpreters(flags) & kDifferentiate) != 0;
}

std::string SymbolText(const char* op, const Tensor& x, const Tensor& y) {
  std::string text = std::string(op) + "(" + Text(x);
  if (y.defined()) text += ", " + Text(y);
  return text + ")";
}

// The elements of f(x, y); y may be undefined.
template <typename F>
Tensor Map(const char* op, const Tensor& x, const Tensor& y, F f) {
  if (((x.flags() | y.flags()) & kRecord) != 0) {
    return MakeSymbol(SymbolText(op, x, y), x.shape());
  }
  Tensor out = Tensor::Empty(x.shape(), DType::kFloat64);
  const double* b = y.defined() ? y.data<double>() : x.data<double>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<double>()[i] = f(x.data<double>()[i], b[i]);
  }
  return out;
}

void AddElements(Tensor& x, const Tensor& y) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] += y.data<double>()[i];
  }
  x.storage()->BumpVersion();
  x.storage()->set_last_writer("add_");
}

Tensor OnesLike(const Tensor& t) {
  return Map("ones_like", t, {}, [](double, double) { return 1.0; });
}
Tensor ZerosLike(const Tensor& t) {
  return Map("zeros_like", t, {}, [](double, double) { return 0.0; });
}

NonFiniteCount CountNonFinite(const Tensor& t) {
  NonFiniteCount n;
  for (const double v : Values(t)) {
    n.nan += std::isnan(v) ? 1 : 0;
    n.inf += std::isinf(v) ? 1 : 0;
  }
  return n;
}

class AddNode final : public CountedNode {
 public:
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    ++formula_runs;
    if (needs_input_grad(0)) out[0] = g[0];
    if (needs_input_grad(1)) out[1] = g[0];
  }
  const char* name() const override { return "add"; }
};

class MulNode final : public CountedNode {
 public:
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    ++formula_runs;
    if (needs_input_grad(0)) out[0] = Mul(g[0], y.Get(*this));
    if (needs_input_grad(1)) out[1] = Mul(g[0], x.Get(*this));
  }
  const char* name() const override { return "multiply"; }
  void ReleaseSaved() override {
    x.Release();
    y.Release();
  }
  void VisitSaved(const SavedVisitor& visit) const override {
    visit("x", x);
    visit("y", y);
  }
  std::string InputName(int i) const override { return i == 0 ? "x" : "y"; }
  SavedTensor x, y;
};

class ExpNode final : public CountedNode {
 public:
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    ++formula_runs;
    out[0] = Mul(g[0], result.Get(*this));
  }
  const char* name() const override { return "exp"; }
  void ReleaseSaved() override { result.Release(); }
  void VisitSaved(const SavedVisitor& visit) const override {
    visit("out", result);
  }
  SavedTensor result;
};

// The gradient of a half is the half surrounded by zeros, as a sum of two.
Tensor Embed(const Tensor& half, bool second) {
  const int64_t n = half.numel();
  Tensor out = Tensor::Empty({2 * n}, DType::kFloat64);
  std::fill_n(out.data<double>(), 2 * n, 0.0);
  std::copy_n(half.data<double>(), n, out.data<double>() + (second ? n : 0));
  return out;
}

class SplitNode final : public CountedNode {
 public:
  SplitNode() { set_num_outputs(2); }
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    ++formula_runs;
    if (g[0].defined()) out[0] = Embed(g[0], false);
    if (g[1].defined()) {
      Tensor second = Embed(g[1], true);
      out[0] = out[0].defined() ? Add(out[0], second) : second;
    }
  }
  const char* name() const override { return "split"; }
};

class IdentityNode final : public CountedNode {
 public:
  explicit IdentityNode(const char* name) : name_(name) {}
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    ++formula_runs;
    out[0] = g[0];
  }
  const char* name() const override { return name_; }

 private:
  const char* name_;
};

Tensor WithNode(Tensor out, const Tensor& x, IntrusivePtr<Node> node) {
  node->AddEdge(GradEdge(x));
  SetHistory(out, std::move(node), 0);
  return out;
}

// Regions of one dim.
template <typename F>
void ForEachPlace(const Region& region, F f) {
  for (int64_t i = 0; i < region.shape.numel(); ++i) {
    f(i, region.offset + i * region.strides[0]);
  }
}

Tensor PlaceRegion(const Tensor& value, const Region& region,
                   const TensorMeta& whole);

Tensor ReadRegion(const Tensor& t, const Region& region) {
  Tensor out = Tensor::Empty(region.shape, DType::kFloat64);
  ForEachPlace(region, [&](int64_t i, int64_t place) {
    out.data<double>()[i] = t.data<double>()[place];
  });
  if (!Records(t.flags())) return out;
  const TensorMeta whole{t.shape(), t.dtype(), t.place()};
  return WithNode(out, t, MakeNode<LambdaNode>([=](auto g, auto input_grads) {
                    input_grads[0] = PlaceRegion(g[0], region, whole);
                  }));
}

Tensor PlaceRegion(const Tensor& value, const Region& region,
                   const TensorMeta& whole) {
  Tensor out = Tensor::Empty(whole.shape, DType::kFloat64);
  std::fill_n(out.data<double>(), out.numel(), 0.0);
  ForEachPlace(region, [&](int64_t i, int64_t place) {
    out.data<double>()[place] += value.data<double>()[i];
  });
  if (!Records(value.flags())) return out;
  return WithNode(out, value,
                  MakeNode<LambdaNode>([=](auto g, auto input_grads) {
                    input_grads[0] = ReadRegion(g[0], region);
                  }));
}

Tensor ClearRegion(const Tensor& t, const Region& region) {
  Tensor out = Clone(Detach(t));
  ForEachPlace(region,
               [&](int64_t, int64_t place) { out.data<double>()[place] = 0; });
  if (!Records(t.flags())) return out;
  return WithNode(out, t, MakeNode<LambdaNode>([=](auto g, auto input_grads) {
                    input_grads[0] = ClearRegion(g[0], region);
                  }));
}

// Of float64 to float32.
Tensor Move(const Tensor& t, DType dtype, Place) {
  Tensor out = Tensor::Empty(t.shape(), dtype, t.place());
  std::copy_n(t.data<double>(), t.numel(), out.data<float>());
  return out;
}

}  // namespace

void InstallTestOps() {
  InstallGradOps({.add = Add,
                  .add_inplace = AddElements,
                  .ones_like = OnesLike,
                  .zeros_like = ZerosLike,
                  .copy = Clone,
                  .move = Move,
                  .count_non_finite = CountNonFinite,
                  .read_region = ReadRegion,
                  .clear_region = ClearRegion,
                  .place_region = PlaceRegion});
}

Tensor Make(std::vector<double> values) {
  Tensor t =
      Tensor::Empty({static_cast<int64_t>(values.size())}, DType::kFloat64);
  std::ranges::copy(values, t.data<double>());
  return t;
}

Tensor Leaf(std::vector<double> values) {
  Tensor t = Make(std::move(values));
  SetRequiresGrad(t, true);
  return t;
}

Tensor MakeSymbol(std::string text, const Shape& shape) {
  Tensor t = Tensor::Symbolic(shape, DType::kFloat64);
  t.impl()->flags |= kRecord;
  t.impl()->symbol = std::make_shared<const TextSymbol>(std::move(text));
  return t;
}

std::vector<double> Values(const Tensor& t) {
  if (!t.defined()) return {};
  return {t.data<double>(), t.data<double>() + t.numel()};
}

std::string Text(const Tensor& t) {
  if (!t.is_symbolic()) return "const";
  return static_cast<const TextSymbol&>(*t.impl()->symbol).text;
}

Tensor Add(const Tensor& x, const Tensor& y) {
  Tensor out = Map("add", x, y, [](double a, double b) { return a + b; });
  if (!Records(x.flags() | y.flags())) return out;
  auto node = MakeNode<AddNode>();
  node->AddEdge(GradEdge(x));
  node->AddEdge(GradEdge(y));
  SetHistory(out, std::move(node), 0);
  return out;
}

Tensor Mul(const Tensor& x, const Tensor& y) {
  Tensor out = Map("mul", x, y, [](double a, double b) { return a * b; });
  if (!Records(x.flags() | y.flags())) return out;
  auto node = MakeNode<MulNode>();
  node->AddEdge(GradEdge(x));
  node->AddEdge(GradEdge(y));
  if (node->needs_input_grad(1)) node->x = SavedTensor(x);
  if (node->needs_input_grad(0)) node->y = SavedTensor(y);
  SetHistory(out, std::move(node), 0);
  return out;
}

Tensor Exp(const Tensor& x) {
  Tensor out = Map("exp", x, {}, [](double a, double) { return std::exp(a); });
  if (!Records(x.flags())) return out;
  auto node = MakeNode<ExpNode>();
  node->result = SavedTensor(out, 0);
  return WithNode(out, x, std::move(node));
}

std::pair<Tensor, Tensor> Split(const Tensor& x) {
  const int64_t n = x.numel() / 2;
  std::pair<Tensor, Tensor> out(Clone(x.AsStrided({n}, {1}, 0)),
                                Clone(x.AsStrided({n}, {1}, n)));
  if (!Records(x.flags())) return out;
  auto node = MakeNode<SplitNode>();
  node->AddEdge(GradEdge(x));
  SetHistory(out.first, node, 0);
  SetHistory(out.second, std::move(node), 1);
  return out;
}

Tensor View(const Tensor& x) { return Part(x, 0, x.numel()); }

Tensor Part(const Tensor& x, int64_t first, int64_t count) {
  Tensor out = x.AsStrided({count}, {1}, first);
  if (Records(x.flags())) {
    const Region region{{count}, {1}, first, x.dtype()};
    const TensorMeta whole{x.shape(), x.dtype(), x.place()};
    out = WithNode(out, x, MakeNode<LambdaNode>([=](auto g, auto input_grads) {
                     ++formula_runs;
                     input_grads[0] = PlaceRegion(g[0], region, whole);
                   }));
  }
  if (GradEnabled()) LinkRecordedView(out, x);
  return out;
}

Tensor Clone(const Tensor& x) {
  Tensor out = Map("clone", x, {}, [](double a, double) { return a; });
  if (!Records(x.flags())) return out;
  return WithNode(out, x, MakeNode<IdentityNode>("clone"));
}

void MulInplace(const Tensor& x, const Tensor& y) {
  CheckInplace("multiply_", x);
  IntrusivePtr<MulNode> node;
  if (Records(x.flags() | y.flags())) {
    node = MakeNode<MulNode>();
    node->AddEdge(GradEdge(x));
    node->AddEdge(GradEdge(y));
    if (node->needs_input_grad(1)) node->x = SavedTensor(x);
    if (node->needs_input_grad(0)) node->y = SavedTensor(y);
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] *= y.data<double>()[i];
  }
  x.storage()->BumpVersion();
  x.storage()->set_last_writer("multiply_");
  if (node) SetInplaceHistory(x, std::move(node), 0);
}

void AddInplace(const Tensor& x, const Tensor& y) {
  CheckInplace("add_", x);
  IntrusivePtr<AddNode> node;
  if (Records(x.flags() | y.flags())) {
    node = MakeNode<AddNode>();
    node->AddEdge(GradEdge(x));
    node->AddEdge(GradEdge(y));
  }
  Tensor changed = x;
  AddElements(changed, y);
  if (node) SetInplaceHistory(x, std::move(node), 0);
}

Tensor WithFormula(const Tensor& x, LambdaNode::Formula formula) {
  Tensor out = Clone(Detach(x));
  return WithNode(out, x, MakeNode<LambdaNode>(std::move(formula)));
}

}  // namespace proa::inline v0::autograd::testing
