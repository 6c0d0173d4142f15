#include "autograd/saved_tensor_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/saved_tensor.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::Clone;
using testing::ErrorOf;
using testing::Exp;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using testing::MulInplace;
using testing::Values;
using V = std::vector<double>;
using Kept = std::shared_ptr<void>;

class SavedTensorHooksTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  void TearDown() override {
    EXPECT_EQ(live_nodes, 0);
    EXPECT_FALSE(internal::has_saved_tensor_hooks);
  }

  static void Run(const Tensor& out, BackwardOptions options = {}) {
    Backward({&out, 1}, {}, options);
  }

  int packs = 0, unpacks = 0;
  // Keeps the numbers in a vector.
  Kept Pack(const Tensor& t) {
    ++packs;
    EXPECT_FALSE(GradEnabled());
    EXPECT_FALSE(RequiresGrad(t));
    return std::make_shared<V>(Values(t));
  }
  Tensor Unpack(const Kept& kept) {
    ++unpacks;
    EXPECT_FALSE(GradEnabled());
    return Make(*static_cast<const V*>(kept.get()));
  }
  PackFunctions Copying() {
    return {[this](const Tensor& t) { return Pack(t); },
            [this](const Kept& kept) { return Unpack(kept); }};
  }
};

TEST_F(SavedTensorHooksTest, KeepWhatPackReturnsInsteadOfTheElements) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, Make({3}));
  Tensor z;
  {
    SavedTensorHooks hooks(Copying().pack, Copying().unpack);
    z = Mul(y, y);
  }
  EXPECT_EQ(packs, 2);
  EXPECT_EQ(y.storage()->use_count(), 1);
  Run(z, {.retain_graph = true});
  EXPECT_EQ(unpacks, 2);
  EXPECT_EQ(Values(GetGrad(x)), V{36});
  Run(z);
  EXPECT_EQ(unpacks, 4);
  EXPECT_THAT(ErrorOf([&] { Run(z); }), HasSubstr("a second time"));
}

TEST_F(SavedTensorHooksTest, OutputsArePackedAndLeavesAreNot) {
  Tensor x = Leaf({0, 1});
  SavedTensorHooks hooks(Copying().pack, Copying().unpack);
  Tensor y = Exp(x);
  EXPECT_EQ(packs, 1);
  Tensor z = Mul(x, x);
  EXPECT_EQ(packs, 1);
  Run(Add(y, z));
  EXPECT_EQ(unpacks, 1);
  EXPECT_NEAR(Values(GetGrad(x))[0], 1, 1e-15);
}

TEST_F(SavedTensorHooksTest, SecondOrder) {
  Tensor x = Leaf({2});
  Tensor z;
  {
    SavedTensorHooks hooks(Copying().pack, Copying().unpack);
    Tensor y = Mul(x, x);
    z = Mul(y, y);
    y = Exp(y);  // not used further
  }
  Tensor first =
      Grad({&z, 1}, {&x, 1}, {}, {.retain_graph = true, .create_graph = true},
           false, {})[0];
  EXPECT_EQ(Values(first), V{32});
  Tensor second = Grad({&first, 1}, {&x, 1}, {}, {}, false, {})[0];
  EXPECT_EQ(Values(second), V{48});
  EXPECT_EQ(packs, 3);
}

TEST_F(SavedTensorHooksTest, TheInnermostAppliesAlone) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, Make({1}));
  SavedTensorHooks outer([](const Tensor&) -> Kept { throw 1; },
                         [](const Kept&) { return Tensor(); });
  {
    SavedTensorHooks inner(Copying().pack, Copying().unpack);
    y = Mul(y, y);
  }
  EXPECT_THROW(Mul(y, y), int);
  EXPECT_EQ(packs, 2);
}

TEST_F(SavedTensorHooksTest, AreOfOneThread) {
  SavedTensorHooks hooks(Copying().pack, Copying().unpack);
  std::thread([this] {
    Tensor x = Mul(Leaf({2}), Make({1}));
    Run(Mul(x, x));
  }).join();
  EXPECT_EQ(packs, 0);
}

TEST_F(SavedTensorHooksTest, ErrorOfPackIsTheForwardCalls) {
  Tensor x = Mul(Leaf({2}), Make({1}));
  SavedTensorHooks hooks(
      [](const Tensor&) -> Kept { throw std::runtime_error("disk is full"); },
      [](const Kept&) { return Tensor(); });
  EXPECT_THROW(Mul(x, x), std::runtime_error);
  EXPECT_THROW(MulInplace(x, x), std::runtime_error);
  EXPECT_EQ(Values(x), V{2});  // before it is changed
}

TEST_F(SavedTensorHooksTest, ErrorOfUnpackEndsThePassAndItCanBeTriedAgain) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, Make({1}));
  bool fail = true;
  Tensor z;
  {
    SavedTensorHooks hooks(Copying().pack, [&](const Kept& kept) {
      if (fail) throw std::runtime_error("file is gone");
      return Unpack(kept);
    });
    z = Mul(y, y);
  }
  EXPECT_THROW(Run(z), std::runtime_error);
  EXPECT_TRUE(GradEnabled());
  fail = false;
  Run(z);
  EXPECT_EQ(Values(GetGrad(x)), V{4});
}

TEST_F(SavedTensorHooksTest, UnpackedTensorMustBeLikeThePackedOne) {
  Tensor y = Mul(Leaf({2}), Make({1}));
  Tensor wrong = Make({1, 2});
  const auto message = [&] {
    SavedTensorHooks hooks([](const Tensor&) -> Kept { return nullptr; },
                           [&](const Kept& kept) {
                             EXPECT_EQ(kept, nullptr);
                             return wrong;
                           });
    Tensor z = Mul(y, y);
    return ErrorOf([&] { Run(z, {.retain_graph = true}); });
  };
  EXPECT_THAT(message(),
              HasSubstr("unpack returned [2] float64 for a tensor saved for "
                        "multiply's backward that is [1] float64"));
  wrong = Tensor::Empty({1}, DType::kFloat32);
  EXPECT_THAT(message(), HasSubstr("unpack returned [1] float32"));
  wrong = Tensor();
  EXPECT_THAT(message(), HasSubstr("unpack returned None"));
}

TEST_F(SavedTensorHooksTest, ChangeInPlaceIsNoticedIfTheElementsAreKept) {
  Tensor x = Leaf({2});
  const auto recorded = [&](auto pack) {
    Tensor y = Mul(x, Make({1}));
    SavedTensorHooks hooks(pack, [](const Kept& kept) {
      return *static_cast<const Tensor*>(kept.get());
    });
    Tensor z = Mul(y, y);
    MulInplace(y, Make({10}));
    return z;
  };
  // What was packed is a copy, or the very elements.
  Run(recorded(
      [](const Tensor& t) { return std::make_shared<Tensor>(Clone(t)); }));
  EXPECT_EQ(Values(GetGrad(x)), V{4});
  Tensor z =
      recorded([](const Tensor& t) { return std::make_shared<Tensor>(t); });
  EXPECT_THAT(ErrorOf([&] { Run(z); }),
              HasSubstr("changed in place by multiply_"));
}

TEST_F(SavedTensorHooksTest,
       WhatUnpackReturnsGetsTheHistoryOnlyWithinBackward) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, Make({1}));
  Tensor kept_by_user = Leaf({2});
  Tensor z;
  {
    SavedTensorHooks hooks([](const Tensor&) -> Kept { return nullptr; },
                           [&](const Kept&) { return kept_by_user; });
    z = Mul(y, y);
  }
  Tensor g = Grad({&z, 1}, {&x, 1}, {},
                  {.retain_graph = true, .create_graph = true}, false, {})[0];
  EXPECT_TRUE(IsLeaf(kept_by_user));
  // d/dx of 2y, by y's own history, not by that of the tensor which unpack
  // gave.
  EXPECT_EQ(Values(Grad({&g, 1}, {&x, 1}, {}, {}, false, {})[0]), V{2});
}

TEST_F(SavedTensorHooksTest, SymbolsAreNotPacked) {
  Tensor x = testing::MakeSymbol("x", {2});
  SetRequiresGrad(x, true);
  SavedTensorHooks hooks(Copying().pack, Copying().unpack);
  Tensor y = Mul(x, testing::MakeSymbol("c", {2}));
  Mul(y, y);
  EXPECT_EQ(packs, 0);
}

TEST_F(SavedTensorHooksTest, PopWithoutPush) {
  EXPECT_THAT(ErrorOf([] { PopSavedTensorHooks(); }),
              HasSubstr("none on this thread"));
  EXPECT_THAT(ErrorOf([] { PushSavedTensorHooks({}); }),
              HasSubstr("both pack and unpack"));
}

}  // namespace
}  // namespace proa::inline v0::autograd
