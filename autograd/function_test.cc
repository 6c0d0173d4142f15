#include "autograd/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/dtype.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using testing::MulInplace;
using testing::Values;
using Doubles = std::vector<double>;
using Grads = std::span<const Tensor>;

int alive = 0;  // functions of the tests

template <typename Derived>
struct Counted : CustomFunction<Derived> {
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

class FunctionTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  void TearDown() override {
    EXPECT_EQ(live_nodes, 0);
    EXPECT_EQ(alive, 0);
  }
  static Tensor GradOf(const Tensor& y, const Tensor& x, bool create = false) {
    return Grad({&y, 1}, {&x, 1}, {},
                {.retain_graph = create, .create_graph = create},
                /*allow_unused=*/true, {})[0];
  }
  static void Run(const Tensor& y, bool retain_graph = false) {
    Backward({&y, 1}, {}, {.retain_graph = retain_graph});
  }
};

struct Square : Counted<Square> {
  Tensor Forward(FunctionContext& ctx, const Tensor& x) {
    ctx.SaveForBackward({x});
    return Mul(x, x);
  }
  std::vector<Tensor> Backward(FunctionContext& ctx, Grads grads) {
    const Tensor x = ctx.Saved()[0];
    return {Mul(grads[0], Add(x, x))};
  }
  static constexpr const char* kName = "square";
};

TEST_F(FunctionTest, FirstAndHigherOrders) {
  Tensor x = Leaf({3});
  Tensor y = Mul(Square::Apply(x), x);  // x^3
  Tensor g = GradOf(y, x, true);
  EXPECT_EQ(Values(g), Doubles{27});
  Tensor gg = GradOf(g, x, true);
  EXPECT_EQ(Values(gg), Doubles{18});
  EXPECT_EQ(Values(GradOf(gg, x)), Doubles{6});
}

TEST_F(FunctionTest, NothingIsRecordedWithoutNeed) {
  Tensor y = Square::Apply(Make({2}));
  EXPECT_EQ(Values(y), Doubles{4});
  EXPECT_FALSE(RequiresGrad(y));
  EXPECT_EQ(alive, 0);
  const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
  EXPECT_FALSE(RequiresGrad(Square::Apply(Leaf({2}))));
}

TEST_F(FunctionTest, SecondBackwardSaysRetainGraph) {
  Tensor x = Leaf({3});
  Tensor y = Square::Apply(x);
  Run(y, true);
  Run(y);
  EXPECT_EQ(Values(GetGrad(x)), Doubles{12});
  EXPECT_THAT(ErrorOf([&] { Run(y); }),
              AllOf(HasSubstr("square's backward"), HasSubstr("second time")));
}

TEST_F(FunctionTest, ChangeOfWhatWasSaved) {
  Tensor x = Mul(Leaf({3}), Make({1}));
  Tensor y = Square::Apply(x);
  MulInplace(x, Make({2}));
  EXPECT_THAT(ErrorOf([&] { Run(y); }),
              AllOf(HasSubstr("square's backward"), HasSubstr("multiply_")));
}

// Saves its output, which must not be a cycle (TearDown counts nodes).
struct Exponential : Counted<Exponential> {
  Tensor Forward(FunctionContext& ctx, const Tensor& x) {
    Tensor y = testing::Exp(x);
    ctx.SaveForBackward({y, Tensor()});
    return y;
  }
  std::vector<Tensor> Backward(FunctionContext& ctx, Grads grads) {
    EXPECT_FALSE(ctx.Saved()[1].defined());
    return {Mul(grads[0], ctx.Saved()[0])};
  }
  static constexpr const char* kName = "exponential";
};

TEST_F(FunctionTest, SavedOutput) {
  Tensor x = Leaf({0});
  Tensor y = Exponential::Apply(x);
  Tensor g = GradOf(y, x, true);
  EXPECT_EQ(Values(g), Doubles{1});
  EXPECT_EQ(Values(GradOf(g, x)), Doubles{1});
}

// (x * scale, y, ints); the second is not differentiable.
struct Several : Counted<Several> {
  double scale = 0;
  std::vector<Tensor> Forward(FunctionContext& ctx,
                              const std::vector<Tensor>& xs, double s,
                              bool materialize) {
    scale = s;
    ctx.SetMaterializeGrads(materialize);
    Tensor second = Add(xs[1], xs[1]);
    ctx.MarkNonDifferentiable(second);
    EXPECT_TRUE(ctx.needs_input_grad(0));
    EXPECT_FALSE(ctx.needs_input_grad(1));
    EXPECT_EQ(ctx.num_inputs(), 2);
    return {Mul(xs[0], Make({s, s})), second,
            Tensor::Empty({2}, DType::kInt64)};
  }
  std::vector<Tensor> Backward(FunctionContext&, Grads grads) {
    EXPECT_EQ(grads.size(), 3u);
    seen = {grads[1].defined(),
            grads[1].defined() ? Values(grads[1]) : Doubles{}};
    return {Mul(grads[0], Make({scale, scale})), Tensor()};
  }
  static std::pair<bool, Doubles> seen;
};
std::pair<bool, Doubles> Several::seen;

TEST_F(FunctionTest, SeveralInputsAndOutputs) {
  for (const bool materialize : {true, false}) {
    Tensor x = Leaf({1, 2});
    std::vector<Tensor> out =
        Several::Apply(std::vector{x, Make({5, 6})}, 3.0, materialize);
    EXPECT_TRUE(RequiresGrad(out[0]));
    EXPECT_FALSE(RequiresGrad(out[1]));
    EXPECT_FALSE(RequiresGrad(out[2]));
    Run(out[0]);
    EXPECT_EQ(Values(GetGrad(x)), (Doubles{3, 3}));
    EXPECT_EQ(Several::seen.first, materialize);
    EXPECT_EQ(Several::seen.second, materialize ? Doubles({0, 0}) : Doubles{});
  }
}

// x *= y, returned.
struct Scale : Counted<Scale> {
  Tensor Forward(FunctionContext& ctx, const Tensor& x, const Tensor& y) {
    ctx.SaveForBackward({y});
    MulInplace(x, y);
    return x;
  }
  std::vector<Tensor> Backward(FunctionContext& ctx, Grads grads) {
    return {Mul(grads[0], ctx.Saved()[0]), Tensor()};
  }
  static constexpr const char* kName = "scale";
};

TEST_F(FunctionTest, InPlace) {
  Tensor leaf = Leaf({2});
  Tensor x = Mul(leaf, leaf);
  Tensor y = Scale::Apply(x, Make({5}));
  EXPECT_TRUE(y.is_same(x));
  EXPECT_EQ(Values(x), Doubles{20});
  Run(Mul(x, Make({1})));
  EXPECT_EQ(Values(GetGrad(leaf)), Doubles{20});
  // What did not require grad does so now.
  Tensor plain = Make({2});
  struct Swapped : Counted<Swapped> {
    Tensor Forward(FunctionContext&, const Tensor& x, const Tensor&) {
      MulInplace(x, Make({3}));
      return x;
    }
    std::vector<Tensor> Backward(FunctionContext&, Grads grads) {
      return {Tensor(), grads[0]};
    }
  };
  Swapped::Apply(plain, leaf);
  EXPECT_TRUE(RequiresGrad(plain));
}

TEST_F(FunctionTest, InPlaceOnALeaf) {
  Tensor leaf = Leaf({2});
  EXPECT_THAT(
      ErrorOf([&] { Scale::Apply(leaf, Make({5})); }),
      AllOf(HasSubstr("scale: cannot change x in place"), HasSubstr("leaf")));
}

struct Hidden : Counted<Hidden> {
  Tensor Forward(FunctionContext&, const Tensor& x) {
    MulInplace(x, Make({2}));
    return Make({1});
  }
  std::vector<Tensor> Backward(FunctionContext&, Grads) { return {Tensor()}; }
  static constexpr const char* kName = "hidden";
};

TEST_F(FunctionTest, InPlaceWithoutReturning) {
  Tensor x = Mul(Leaf({2}), Make({1}));
  EXPECT_THAT(ErrorOf([&] { Hidden::Apply(x); }),
              HasSubstr("hidden: forward changed input 0 in place"));
  Tensor plain = Make({2});
  Hidden::Apply(plain);
  EXPECT_EQ(Values(plain), Doubles{4});
}

// Doubles the gradient.
struct Pass : Counted<Pass> {
  std::vector<Tensor> Forward(FunctionContext& ctx, const Tensor& x) {
    ctx.SaveForBackward({x});
    return {x, x};
  }
  std::vector<Tensor> Backward(FunctionContext& ctx, Grads grads) {
    EXPECT_EQ(Values(ctx.Saved()[0]), Doubles{3});
    Tensor g = Add(grads[0], grads[1]);
    return {Add(g, g)};
  }
};

TEST_F(FunctionTest, InputReturnedAsItWas) {
  Tensor x = Leaf({3});
  std::vector<Tensor> y = Pass::Apply(x);
  EXPECT_FALSE(y[0].is_same(x));
  EXPECT_FALSE(y[1].is_same(y[0]));
  EXPECT_EQ(y[0].data<double>(), x.data<double>());
  EXPECT_TRUE(IsLeaf(x));
  Run(Add(y[0], y[1]));
  EXPECT_EQ(Values(GetGrad(x)), Doubles{4});
  // The elements are those of a leaf.
  EXPECT_THAT(ErrorOf([&] { MulInplace(y[0], Make({2})); }),
              HasSubstr("cannot change x in place"));
}

// Returns a tensor with a history of its own.
struct Foreign : Counted<Foreign> {
  Tensor Forward(FunctionContext&, const Tensor&, const Tensor* other) {
    return *other;
  }
  std::vector<Tensor> Backward(FunctionContext&, Grads grads) {
    return {grads[0]};
  }
};

TEST_F(FunctionTest, OutputThatHasAHistory) {
  Tensor x = Leaf({3}), other = Leaf({4});
  const Tensor* p = &other;
  Run(Foreign::Apply(x, p));
  EXPECT_EQ(Values(GetGrad(x)), Doubles{1});
  EXPECT_FALSE(GetGrad(other).defined());
  EXPECT_TRUE(IsLeaf(other));
}

struct Wrong : Counted<Wrong> {
  Tensor Forward(FunctionContext&, const Tensor& x,
                 const std::vector<Tensor>* r) {
    result = *r;
    return Mul(x, x);
  }
  std::vector<Tensor> Backward(FunctionContext&, Grads) { return result; }
  static constexpr const char* kName = "wrong";
  std::vector<Tensor> result;
};

TEST_F(FunctionTest, WrongGradients) {
  const auto error = [](std::vector<Tensor> result) {
    Tensor x = Leaf({1, 2});
    const std::vector<Tensor>* p = &result;
    Tensor y = Wrong::Apply(x, p);
    return ErrorOf([&] { Run(y); });
  };
  EXPECT_THAT(error({}),
              HasSubstr("wrong: backward returned 0 gradients for 1 "));
  EXPECT_THAT(error({Make({1, 1}), Tensor()}),
              HasSubstr("returned 2 gradients"));
  EXPECT_THAT(error({Make({1})}),
              AllOf(HasSubstr("wrong: gradient 0"), HasSubstr("[1] float64"),
                    HasSubstr("[2] float64")));
  EXPECT_THAT(error({Tensor::Empty({2}, DType::kFloat32)}),
              HasSubstr("[2] float32"));
  EXPECT_EQ(error({Tensor()}), "no error");
  EXPECT_EQ(error({Make({1, 1})}), "no error");
}

TEST_F(FunctionTest, Symbolic) {
  Tensor x = testing::MakeSymbol("x", {2});
  SetRequiresGrad(x, true);
  Tensor y = Square::Apply(x);
  EXPECT_EQ(testing::Text(y), "mul(x, x)");
  EXPECT_EQ(testing::Text(GradOf(y, x)),
            "mul(ones_like(mul(x, x)), add(x, x))");
}

// A backward within a backward.
struct Reentrant : Counted<Reentrant> {
  Tensor Forward(FunctionContext& ctx, const Tensor& x) {
    ctx.SaveForBackward({x});
    return Mul(Mul(x, x), x);
  }
  std::vector<Tensor> Backward(FunctionContext& ctx, Grads grads) {
    Tensor x = Make(Values(ctx.Saved()[0]));
    SetRequiresGrad(x, true);
    const InterpreterScope on = InterpreterScope::Allow(kDifferentiate);
    Tensor y = Mul(Square::Apply(x), x);
    return {Grad({&y, 1}, {&x, 1}, grads, {}, false, {})[0]};
  }
};

TEST_F(FunctionTest, BackwardWithinBackward) {
  Tensor x = Leaf({2});
  Run(Reentrant::Apply(x));
  EXPECT_EQ(Values(GetGrad(x)), Doubles{12});
}

}  // namespace
}  // namespace proa::inline v0::autograd
