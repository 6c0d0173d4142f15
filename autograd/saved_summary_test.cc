#include "autograd/saved_summary.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/saved_tensor_hooks.h"
#include "autograd/testing_ops.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::Exp;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::View;
using Group = SavedSummary::Group;

class SavedSummaryTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  static std::string Rows(const SavedSummary& s) {
    std::string text;
    for (const SavedSummary::Row& r : s.rows) {
      text += std::to_string(static_cast<int>(r.group)) + " " + r.op + "." +
              r.name + " " + std::to_string(r.tensors) + "x " +
              std::to_string(r.bytes) + "\n";
    }
    return text;
  }
};

TEST_F(SavedSummaryTest, EachStorageOnceByGroup) {
  Tensor w = Leaf({1, 2}), c = Make({3, 4});
  Tensor y = Mul(w, c);       // saves c (for w)
  Tensor z = Mul(Exp(y), y);  // exp saves its output; multiply that and y
  Tensor of_leaf = Mul(z, w);
  Tensor out = Add(of_leaf, Mul(View(w), z));
  const SavedSummary s = SummarizeSaved({&out, 1});
  EXPECT_EQ(s.bytes(Group::kLeaf), 16);
  EXPECT_EQ(s.bytes(Group::kConstant), 16);
  EXPECT_EQ(s.bytes(Group::kActivation), 3 * 16);
  EXPECT_EQ(s.bytes(Group::kPacked), 0);
  EXPECT_EQ(s.nodes, 7);
  EXPECT_EQ(Rows(s),
            "0 multiply.y 2x 32\n"  // z, y
            "0 multiply.x 2x 16\n"  // exp(y); z again
            "0 exp.out 1x 0\n"
            "1 multiply.x 1x 16\n"
            "1 multiply.y 1x 0\n"
            "2 multiply.y 1x 16\n");
}

TEST_F(SavedSummaryTest, ReleasedIsNothing) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, x);
  Backward({&y, 1}, {}, {});
  const SavedSummary s = SummarizeSaved({&y, 1});
  EXPECT_TRUE(s.rows.empty());
  EXPECT_EQ(s.nodes, 1);
  Tensor plain = Make({1});
  EXPECT_EQ(SummarizeSaved({&plain, 1}).nodes, 0);
}

TEST_F(SavedSummaryTest, Packed) {
  Tensor x = Leaf({1, 2, 3});
  Tensor y = Exp(x);
  {
    SavedTensorHooks hooks(
        [](const Tensor&) { return nullptr; },
        [](const std::shared_ptr<void>&) { return Tensor(); });
    y = Mul(y, y);
  }
  const SavedSummary s = SummarizeSaved({&y, 1});
  EXPECT_EQ(s.bytes(Group::kPacked), 48);
  EXPECT_EQ(s.bytes(Group::kActivation), 24);
}

TEST_F(SavedSummaryTest, LongChain) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({1}));
  for (int i = 0; i < 100'000; ++i) y = Mul(y, x);
  EXPECT_EQ(SummarizeSaved({&y, 1}).bytes(Group::kActivation), 8 * 100'000);
}

}  // namespace
}  // namespace proa::inline v0::autograd
