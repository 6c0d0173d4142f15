// What the engine itself costs: recording a node, backward and destruction a
// node, with an op that does almost nothing.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/saved_tensor.h"

namespace proa::inline v0::autograd {
namespace {

// Adds no elements: what remains is the mechanism.
class PassOnNode final : public Node {
 public:
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    if (needs_input_grad(0)) out[0] = g[0];
    if (needs_input_grad(1)) out[1] = g[0];
  }
  const char* name() const override { return "pass_on"; }
};

// Multiplies by what it saved; makes the tensor that the formula would make.
class SavingNode final : public Node {
 public:
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    if (needs_input_grad(0)) out[0] = Times(g[0], y.Get(*this));
    if (needs_input_grad(1)) out[1] = Times(g[0], x.Get(*this));
  }
  void ReleaseSaved() override {
    x.Release();
    y.Release();
  }
  const char* name() const override { return "saving"; }

  static Tensor Times(const Tensor& a, const Tensor& b) {
    Tensor out = Tensor::Empty(a.shape(), DType::kFloat32);
    for (int i = 0; i < 4; ++i) {
      out.data<float>()[i] = a.data<float>()[i] * b.data<float>()[i];
    }
    return out;
  }
  SavedTensor x, y;
};

Tensor Ones(const Tensor& t) {
  Tensor out = Tensor::Empty(t.shape(), t.dtype());
  std::fill_n(out.data<float>(), out.numel(), 1.f);
  return out;
}
Tensor AddFour(const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::Empty(a.shape(), a.dtype());
  for (int i = 0; i < 4; ++i) {
    out.data<float>()[i] = a.data<float>()[i] + b.data<float>()[i];
  }
  return out;
}
void AddFourInplace(Tensor& a, const Tensor& b) {
  for (int i = 0; i < 4; ++i) a.data<float>()[i] += b.data<float>()[i];
}
const bool installed = [] {
  InstallGradOps({AddFour, AddFourInplace, Ones, Ones, nullptr});
  return true;
}();

Tensor FourFloats(bool requires_grad) {
  Tensor t = Tensor::Empty({4}, DType::kFloat32);
  std::fill_n(t.data<float>(), 4, 1.f);
  if (requires_grad) SetRequiresGrad(t, true);
  return t;
}

Tensor RecordPassOn(const Tensor& x, const Tensor& y) {
  Tensor out = Tensor::Empty({4}, DType::kFloat32);
  auto node = MakeNode<PassOnNode>();
  node->AddEdge(GradEdge(x));
  node->AddEdge(GradEdge(y));
  SetHistory(out, std::move(node), 0);
  return out;
}

Tensor RecordSaving(const Tensor& x, const Tensor& y) {
  Tensor out = Tensor::Empty({4}, DType::kFloat32);
  auto node = MakeNode<SavingNode>();
  node->AddEdge(GradEdge(x));
  node->AddEdge(GradEdge(y));
  node->x = SavedTensor(x, *node, 0);
  node->y = SavedTensor(y, *node, 1);
  SetHistory(out, std::move(node), 0);
  return out;
}

// The output tensor alone, to be subtracted from the next two.
void BM_OutputOnly(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Tensor::Empty({4}, DType::kFloat32));
  }
}
BENCHMARK(BM_OutputOnly);

// Node, two edges and history on the output, and the end of all that.
void BM_RecordNode(benchmark::State& state) {
  Tensor x = FourFloats(true), y = FourFloats(true);
  for (auto _ : state) benchmark::DoNotOptimize(RecordPassOn(x, y));
}
BENCHMARK(BM_RecordNode);

void BM_RecordNodeWithTwoSaved(benchmark::State& state) {
  Tensor x = FourFloats(true), y = FourFloats(true);
  for (auto _ : state) benchmark::DoNotOptimize(RecordSaving(x, y));
}
BENCHMARK(BM_RecordNodeWithTwoSaved);

template <typename Record>
void BackwardOfChain(benchmark::State& state, Record record,
                     bool second_requires_grad) {
  const int64_t nodes = state.range(0);
  Tensor x = FourFloats(true), y = FourFloats(second_requires_grad);
  Tensor out = record(x, y);
  for (int64_t i = 1; i < nodes; ++i) out = record(out, y);
  for (auto _ : state) {
    Backward({&out, 1}, {}, {.retain_graph = true});
  }
  state.counters["per_node"] =
      benchmark::Counter(static_cast<double>(nodes),
                         benchmark::Counter::kIsIterationInvariantRate |
                             benchmark::Counter::kInvert);
}

// y does not require grad: the engine's cost a node.
void BM_BackwardChain(benchmark::State& state) {
  BackwardOfChain(state, RecordPassOn, false);
}
BENCHMARK(BM_BackwardChain)->Arg(1)->Arg(10)->Arg(1000)->Arg(100000);

// y requires grad, so that each node adds four floats into its gradient.
void BM_BackwardChainOfAdds(benchmark::State& state) {
  BackwardOfChain(state, RecordPassOn, true);
}
BENCHMARK(BM_BackwardChainOfAdds)->Arg(1000);

void BM_BackwardChainOfSaving(benchmark::State& state) {
  BackwardOfChain(state, RecordSaving, false);
}
BENCHMARK(BM_BackwardChainOfSaving)->Arg(1000);

// Within another pass (recomputation does that), where nodes cannot hold the
// counts.
void BM_BackwardWithinBackward(benchmark::State& state) {
  class OuterNode final : public Node {
   public:
    explicit OuterNode(benchmark::State& state) : state_(state) {}
    void Backward(std::span<const Tensor>, std::span<Tensor>) override {
      InterpreterScope allow = InterpreterScope::Allow(kDifferentiate);
      BackwardOfChain(state_, RecordPassOn, false);
    }
    const char* name() const override { return "outer"; }

   private:
    benchmark::State& state_;
  };
  Tensor out = FourFloats(false);
  auto node = MakeNode<OuterNode>(state);
  node->AddEdge(GradEdge(FourFloats(true)));
  SetHistory(out, std::move(node), 0);
  Backward({&out, 1}, {}, {});
}
BENCHMARK(BM_BackwardWithinBackward)->Arg(1000);

// Gradient of one leaf: only the way to it runs.
void BM_GradOfChain(benchmark::State& state) {
  Tensor x = FourFloats(true), y = FourFloats(true);
  Tensor out = RecordPassOn(x, y);
  for (int i = 1; i < 1000; ++i) out = RecordPassOn(out, y);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Grad({&out, 1}, {&x, 1}, {}, {.retain_graph = true}, false, {}));
  }
}
BENCHMARK(BM_GradOfChain);

// Record, backward and destruction of 1000 nodes.
void BM_RecordBackwardDestroy(benchmark::State& state) {
  Tensor x = FourFloats(true), y = FourFloats(false);
  for (auto _ : state) {
    Tensor out = RecordPassOn(x, y);
    for (int i = 1; i < 1000; ++i) out = RecordPassOn(out, y);
    Backward({&out, 1}, {}, {});
  }
}
BENCHMARK(BM_RecordBackwardDestroy);

}  // namespace
}  // namespace proa::inline v0::autograd
