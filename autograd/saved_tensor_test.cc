#include "autograd/saved_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using testing::Exp;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using testing::MulInplace;
using testing::Values;

class SavedTensorTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  void TearDown() override { EXPECT_EQ(live_nodes, 0); }

  static void Run(const Tensor& out, bool retain_graph = false) {
    Backward({&out, 1}, {}, {.retain_graph = retain_graph});
  }
};

TEST_F(SavedTensorTest, AbsentArgumentStaysAbsent) {
  Tensor out = testing::WithFormula(Leaf({1}), [](auto, auto) {});
  Node& node = *GradEdge(out).node;
  SavedTensor none{Tensor()};
  EXPECT_FALSE(none.Get(node).defined());
  none.Release();
  EXPECT_FALSE(none.Get(node).defined());
  SavedTensor empty;
  EXPECT_FALSE(empty.Get(node).defined());
}

TEST_F(SavedTensorTest, InputIsAnotherHandleOnTheSameElements) {
  Tensor x = Leaf({1, 2});
  Tensor out = testing::WithFormula(x, [](auto, auto) {});
  Node& node = *GradEdge(out).node;
  Tensor got = SavedTensor(x).Get(node);
  EXPECT_FALSE(got.is_same(x));
  EXPECT_EQ(got.storage(), x.storage());
  EXPECT_EQ(GradEdge(got).node, GradEdge(x).node);
  auto no_grad = InterpreterScope::Forbid(kDifferentiate);
  EXPECT_FALSE(RequiresGrad(SavedTensor(x).Get(node)));
}

TEST_F(SavedTensorTest, InputKeepsTheHistoryThatItHadWhenItWasSaved) {
  Tensor x = Mul(Leaf({3}), Make({1}));
  Tensor plain = Make({3});
  SavedTensor saved(x), saved_plain(plain);
  const IntrusivePtr<Node> then = GradEdge(x).node;
  Tensor out = testing::WithFormula(x, [](auto, auto) {});
  Node& node = *GradEdge(out).node;
  SetHistory(x, GradEdge(out).node, 0);
  SetHistory(plain, GradEdge(out).node, 0);
  EXPECT_EQ(GradEdge(saved.Get(node)).node, then);
  EXPECT_FALSE(RequiresGrad(saved_plain.Get(node)));
}

TEST_F(SavedTensorTest, SecondBackwardSaysRetainGraph) {
  Tensor x = Leaf({3});
  Tensor out = Mul(x, x);
  Run(out, /*retain_graph=*/true);
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{12});
  EXPECT_THAT(
      ErrorOf([&] { Run(out); }),
      AllOf(HasSubstr("multiply's backward"), HasSubstr("a second time"),
            HasSubstr("retain_graph=True")));
}

TEST_F(SavedTensorTest, ChangedInputNamesNodeAndWriter) {
  Tensor a = Leaf({3});
  Tensor x = Mul(a, Make({1}));
  Tensor out = Mul(x, x);
  MulInplace(x, Make({2}));
  EXPECT_THAT(ErrorOf([&] { Run(out); }),
              AllOf(HasSubstr("saved for multiply's backward was changed in "
                              "place by multiply_"),
                    HasSubstr("[1] float64"), HasSubstr("version 1")));
}

TEST_F(SavedTensorTest, ChangedOutputIsFound) {
  Tensor x = Leaf({1});
  Tensor out = Exp(x);
  MulInplace(out, Make({2}));
  EXPECT_THAT(ErrorOf([&] { Run(out); }),
              HasSubstr("saved for exp's backward was changed in place by "
                        "multiply_"));
}

TEST_F(SavedTensorTest, ChangeThroughAnAliasIsFound) {
  Tensor x = Leaf({1});
  Tensor out = Mul(x, x);
  Tensor alias = Detach(x);
  MulInplace(alias, Make({2}));
  EXPECT_THAT(ErrorOf([&] { Run(out); }), HasSubstr("by multiply_"));
}

TEST_F(SavedTensorTest, HandleThatGotAnotherStorageLeavesWhatWasSaved) {
  Tensor x = Leaf({3});
  Tensor out = Mul(x, x);
  x.impl()->storage = Make({5}).storage();
  x.impl()->data = static_cast<char*>(x.storage()->data());
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{6});
}

TEST_F(SavedTensorTest, ChangeWithoutNameOfWriter) {
  Tensor x = Leaf({1});
  Tensor out = Mul(x, x);
  x.storage()->BumpVersion();
  EXPECT_THAT(ErrorOf([&] { Run(out); }), HasSubstr("by an op without a name"));
}

TEST_F(SavedTensorTest, SavedOutputIsNoCycle) {
  { Tensor out = Exp(Leaf({1})); }
  EXPECT_EQ(live_nodes, 0);
}

TEST_F(SavedTensorTest, SavedOutputGetsItsHistoryBackIfGradIsOn) {
  Tensor x = Leaf({0});
  Tensor out = Exp(x);
  Node& node = *GradEdge(out).node;
  SavedTensor saved(out, 0);
  EXPECT_TRUE(RequiresGrad(saved.Get(node)));
  EXPECT_EQ(GradEdge(saved.Get(node)).node.get(), &node);
  auto no_grad = InterpreterScope::Forbid(kDifferentiate);
  EXPECT_FALSE(RequiresGrad(saved.Get(node)));
}

TEST_F(SavedTensorTest, InplaceOpThatSavesItsOwnInputIsNoCycle) {
  Tensor a = Leaf({3}), w = Leaf({2});
  {
    Tensor x = Mul(a, Make({1}));
    MulInplace(x, w);  // w's gradient needs the x of before
    EXPECT_THAT(ErrorOf([&] { Run(x); }),
                HasSubstr("saved for multiply's backward was changed"));
  }
  EXPECT_EQ(live_nodes, 0);
}

TEST_F(SavedTensorTest, InputChangedLaterByAnOpOfItsUserIsNoCycle) {
  Tensor a = Leaf({3}), w = Leaf({2});
  {
    Tensor x = Mul(a, Make({1}));
    MulInplace(x, Mul(x, w));  // x -> multiply_ -> multiply, which saved x
  }
  EXPECT_EQ(live_nodes, 0);
  {
    Tensor x = Make({1});  // requires no grad until it is changed
    MulInplace(x, Mul(x, w));
    EXPECT_TRUE(RequiresGrad(x));
  }
  EXPECT_EQ(live_nodes, 0);
  {
    Tensor x = Mul(a, Make({1}));
    MulInplace(x, x);
  }
  EXPECT_EQ(live_nodes, 0);
}

TEST_F(SavedTensorTest, LeafWhoseGradientHasAHistoryIsNoCycle) {
  {
    Tensor x = Leaf({3});
    Tensor out = Mul(x, Mul(x, x));
    Backward({&out, 1}, {}, {.retain_graph = true, .create_graph = true});
    EXPECT_TRUE(RequiresGrad(GetGrad(x)));
  }
  EXPECT_EQ(live_nodes, 0);
}

TEST_F(SavedTensorTest, SavedLeafAccumulatesInTheLeaf) {
  Tensor x = Leaf({3});
  Tensor out = testing::WithFormula(x, [](auto, auto) {});
  {
    SavedTensor saved(x);
    Run(Mul(saved.Get(*GradEdge(out).node), Make({2})));
  }
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{2});
}

TEST_F(SavedTensorTest, SymbolThatIsReboundLaterIsNotWhatWasSaved) {
  Tensor x = testing::MakeSymbol("x", {2});
  SetRequiresGrad(x, true);
  Tensor out = Mul(x, testing::MakeSymbol("c", {2}));
  Node& node = *GradEdge(out).node;
  SavedTensor saved(x);
  x.impl()->symbol = testing::MakeSymbol("x1", {2}).impl()->symbol;
  EXPECT_EQ(testing::Text(saved.Get(node)), "x");
  EXPECT_EQ(GradEdge(saved.Get(node)).node, GradEdge(x).node);
}

}  // namespace
}  // namespace proa::inline v0::autograd
