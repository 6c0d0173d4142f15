// Gradients of recorded control flow, against those of the same code at once.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "gtest/gtest.h"
#include "jit/control_flow.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/trigonometric_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

Tensor Sum(const Tensor& t) { return ops::sum(t, {}, DType::kFloat32, false); }

// d f(x, w) / d x, and / d w, which f finds outside of its regions.
using Function = std::function<Tensor(const Tensor& x, const Tensor& w)>;

TensorList GradientsOf(const Function& f, const std::array<Tensor, 2>& xw,
                       bool create_graph = false) {
  const auto& [x, w] = xw;
  for (const Tensor& t : xw) autograd::SetRequiresGrad(t, true);
  const Tensor outputs[] = {f(x, w)};
  const Tensor inputs[] = {x, w};
  return autograd::Grad(outputs, inputs, {}, {.create_graph = create_graph},
                        true, {});
}

void ExpectSameGradients(const Function& f, const Tensor& x, const Tensor& w) {
  const auto program = std::make_shared<Program>();
  const TensorList recorded =
      GradientsOf(f, {AddInput(program, "x", x.shape(), x.dtype()),
                      AddInput(program, "w", w.shape(), w.dtype())});
  const absl::Status s = Verify(*program);
  EXPECT_TRUE(s.ok()) << s;
  const TensorList got = RunProgram(recorded, {{0, x}, {1, w}});
  const TensorList want = GradientsOf(f, {x.Alias(), w.Alias()});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(got[i].shape(), want[i].shape());
    for (int64_t k = 0; k < got[i].numel(); ++k) {
      EXPECT_FLOAT_EQ(got[i].data<float>()[k], want[i].data<float>()[k]);
    }
  }
}

// sin(x * w) where the sum of x is positive, x * x * w elsewhere.
Tensor OneWay(const Tensor& x, const Tensor& w) {
  return Sum(Cond(
      ops::greater_than(Sum(x), Tensor::Scalar(0.f)),
      [&] { return TensorList{ops::sin(ops::multiply(x, w))}; },
      [&] { return TensorList{ops::multiply(ops::multiply(x, x), w)}; })[0]);
}

// Multiplies by w until the sum is 10 or more.
Tensor Repeated(const Tensor& x, const Tensor& w) {
  return Sum(WhileLoop(
      [](const TensorList& v) {
        return ops::less_than(Sum(v[0]), Tensor::Scalar(10.f));
      },
      [&](const TensorList& v) { return TensorList{ops::multiply(v[0], w)}; },
      {x})[0]);
}

TEST(RegionGrad, OfTheWayThatIsTaken) {
  ExpectSameGradients(OneWay, Floats({1, 2}), Floats({3, 4}));
  ExpectSameGradients(OneWay, Floats({-1, -2}), Floats({3, 4}));
}

TEST(RegionGrad, OfEachTurn) {
  ExpectSameGradients(Repeated, Floats({1, 2}), Floats({1.5, 2}));
  ExpectSameGradients(Repeated, Floats({1, 2}), Floats({20, 1}));
}

TEST(RegionGrad, OfALoopInAWay) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    return Cond(
        ops::greater_than(Sum(x), Tensor::Scalar(0.f)),
        [&] { return TensorList{Repeated(ops::exp(x), w)}; },
        [&] { return TensorList{Sum(ops::multiply(x, w))}; })[0];
  };
  ExpectSameGradients(f, Floats({0.1f, 0.2f}), Floats({1.5, 2}));
  ExpectSameGradients(f, Floats({-0.1f, -0.2f}), Floats({1.5, 2}));
}

TEST(RegionGrad, SecondDerivativesOfCondOnly) {
  const auto twice = [](const Function& f) {
    const auto program = std::make_shared<Program>();
    Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
    const TensorList first =
        GradientsOf(f, {x, AddInput(program, "w", {2}, DType::kFloat32)}, true);
    const Tensor outputs[] = {Sum(first[0])};
    const Tensor inputs[] = {x};
    return autograd::Grad(outputs, inputs, {}, {}, true, {})[0];
  };
  const Tensor second = twice(OneWay);
  // Of x * x * w: 2 w.
  EXPECT_EQ(Elements(RunProgram(
                {second}, {{0, Floats({-1, -2})}, {1, Floats({3, 4})}})[0]),
            std::vector<float>({6, 8}));
  try {
    twice(Repeated);
    FAIL() << "a loop has no second derivative";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no second derivative"),
              std::string::npos)
        << e.what();
  }
}

TEST(RegionGrad, OfWhatHasItsOwn) {
  // x * x whose backward is wrong on purpose: it gives 100 x.
  const auto f = [](const Tensor& x, const Tensor& w) {
    const Tensor y = ops::multiply(x, x);
    return Sum(ops::multiply(CustomGradient({y}, {x}, {x},
                                            [&](const TensorList& g) {
                                              return TensorList{ops::multiply(
                                                  ops::multiply(g[0], x),
                                                  Tensor::Scalar(100.f))};
                                            })[0],
                             w));
  };
  const auto program = std::make_shared<Program>();
  const TensorList grads =
      GradientsOf(f, {AddInput(program, "x", {2}, DType::kFloat32),
                      AddInput(program, "w", {2}, DType::kFloat32)});
  const TensorList got =
      RunProgram(grads, {{0, Floats({1, 2})}, {1, Floats({3, 4})}});
  EXPECT_EQ(Elements(got[0]), std::vector<float>({300, 800}));
  EXPECT_EQ(Elements(got[1]), std::vector<float>({1, 4}));
}

TEST(RegionGrad, OfWhatHasNoneIsZeros) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    return Sum(CustomGradient({ops::multiply(x, w)}, {x, w}, {x, w},
                              [](const TensorList&) {
                                return TensorList{Tensor(), Tensor()};
                              })[0]);
  };
  const auto program = std::make_shared<Program>();
  const TensorList grads =
      GradientsOf(f, {AddInput(program, "x", {kUnknownDim}, DType::kFloat32),
                      AddInput(program, "w", {kUnknownDim}, DType::kFloat32)});
  for (const Tensor& g :
       RunProgram(grads, {{0, Floats({1, 2})}, {1, Floats({3, 4})}})) {
    EXPECT_EQ(Elements(g), std::vector<float>({0, 0}));
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
