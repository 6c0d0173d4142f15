// Ops with regions: recording, text, verification, evaluation.
#include "jit/control_flow.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/random_state.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "ops/creation/full_ops.h"
#include "ops/creation/random_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/trigonometric_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

Tensor Full(std::vector<int64_t> shape, double value,
            DType dtype = DType::kFloat32) {
  return ops::full(IntArray(shape), Scalar(value), dtype);
}

class ControlFlowTest : public ::testing::Test {
 protected:
  Tensor Input(const char* name, const Shape& shape) {
    return AddInput(program_, name, shape, DType::kFloat32);
  }
  std::vector<Tensor> Run(const TensorList& fetches,
                          std::vector<std::pair<ValueId, Tensor>> feeds) {
    std::vector<ValueId> ids;
    for (const Tensor& t : fetches) ids.push_back(SymbolOf(t).id());
    return Executor(*program_, ids).Run(feeds);
  }

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

constexpr char kCond[] =
    "program {\n"
    "  %0 = input \"p\" : [] bool\n"
    "  %1 = input \"x\" : [?] float32\n"
    "  (%4) = cond(%0) {\n"
    "    %2 = exp(%1) : [?] float32\n"
    "    return %2\n"
    "  } {\n"
    "    %3 = sin(%1) : [?] float32\n"
    "    return %3\n"
    "  } : [?] float32\n"
    "}\n";

TEST_F(ControlFlowTest, CondIsRecordedRunAndParsed) {
  const Tensor p = AddInput(program_, "p", {}, DType::kBool);
  const Tensor x = Input("x", {kUnknownDim});
  const TensorList y = Cond(
      p, [&] { return TensorList{ops::exp(x)}; },
      [&] { return TensorList{ops::sin(x)}; });
  EXPECT_EQ(ToText(*program_), kCond);
  for (const bool way : {true, false}) {
    const auto out = Run(y, {{0, Tensor::Scalar(way)}, {1, Full({3}, 0)}});
    EXPECT_EQ(out[0].data<float>()[2], way ? 1.f : 0.f);
  }
  const auto parsed = ParseText(kCond, {});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_NE(ToText(**parsed).find("cond(%0) {"), std::string::npos);
}

TEST_F(ControlFlowTest, WhileSettlesItsSizes) {
  const Tensor x = Input("x", {2});
  const TensorList y = WhileLoop(
      [](const TensorList& v) {
        return ops::less_than(ops::sum(v[0], {}, DType::kFloat32, false),
                              Full({}, 10));
      },
      [](const TensorList& v) { return TensorList{ops::add(v[0], v[0])}; },
      {x});
  EXPECT_EQ(y[0].shape(), Shape({2}));
  EXPECT_TRUE(Verify(*program_).ok());
  EXPECT_NE(ToText(*program_).find("= while([%0]) {"), std::string::npos);
  EXPECT_EQ(Run(y, {{0, Full({2}, 1)}})[0].data<float>()[0], 8.f);
}

TEST_F(ControlFlowTest, ReverseLoopGoesBack) {
  ReversedLoop loop;
  loop.condition = [](const TensorList& v) {
    return ops::less_than(v[0], Full({}, 3));
  };
  loop.body = [](const TensorList& v) {
    return TensorList{ops::add(v[0], Full({}, 1))};
  };
  // 10 * carried + the variable of the turn: the digits tell the order.
  loop.turn = [](const TensorList& v) {
    return TensorList{ops::add(ops::multiply(v[1], Full({}, 10)), v[0])};
  };
  loop.vars = {Full({}, 0)};
  loop.carried = {Full({}, 9)};
  EXPECT_EQ(ReverseLoop(loop)[0].item<float>(), 9210);
  const Tensor x = Input("x", {});
  loop.vars = {x};
  const TensorList y = ReverseLoop(loop);
  EXPECT_TRUE(Verify(*program_).ok());
  EXPECT_EQ(Run(y, {{0, Full({}, 0)}})[0].item<float>(), 9210);
}

TEST_F(ControlFlowTest, RandomStateIsTakenUpAndGivenBack) {
  const auto draw = [] {
    return ops::uniform(IntArray({4}), DType::kFloat32, Scalar(0.0),
                        Scalar(1.0));
  };
  Tensor first, again, after;
  {
    const StaticModeScope scope(program_);
    const Tensor state = RecordRandomState(program_);
    first = draw();
    again = WithRandomState(state, [&] { return TensorList{draw()}; })[0];
    after = draw();
  }
  EXPECT_TRUE(Verify(*program_).ok());
  SeedAll(5);
  const auto out = Run({first, again, after}, {});
  SeedAll(5);
  const Tensor one = draw(), two = draw();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(out[0].data<float>()[i], one.data<float>()[i]);
    EXPECT_EQ(out[1].data<float>()[i], one.data<float>()[i]);
    EXPECT_EQ(out[2].data<float>()[i], two.data<float>()[i]);
  }
}

TEST(Verify, RefusesRegionsThatDoNotFit) {
  const std::string loop =
      "program {\n"
      "  %0 = input \"x\" : [] float32\n"
      "  %1 = input \"p\" : [] bool\n"
      "  (%2) = while([%0]) {\n"
      "    %3 = argument : [] float32\n"
      "    return %1\n"
      "  } {\n"
      "    %4 = argument : [] float32\n"
      "    %5 = exp(%4) : [] float32\n"
      "    return %5\n"
      "  } : [] float32\n"
      "  %6 = sin(%2) : [] float32\n"
      "}\n";
  EXPECT_TRUE(ParseText(loop, {}).ok());
  for (const auto& [from, to, says] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"return %1", "return %1, %1",
            "region condition has 1 arguments and 2 returns; expected 1 and 1"},
           {"    %4 = argument : [] float32\n    %5 = exp(%4)",
            "    %5 = exp(%0)", "region body has 0 arguments"},
           {"[%0]", "[%0, %0]", "has 2 variables and 1 results"},
           {"sin(%2)", "sin(%5)", "which is not made yet"},
           {"return %5\n  } :", "return %3\n  } :", "which is not made yet"}}) {
    std::string bad = loop;
    bad.replace(bad.find(from), from.size(), to);
    const auto refused = ParseText(bad, {});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(std::string(refused.status().message()).find(says),
              std::string::npos)
        << refused.status();
  }
}

// Every op with regions is complete.
TEST(RegionOps, HaveTheirRules) {
  int found = 0;
  for (const OpDefinition* op : AllOps()) {
    if (op->regions == nullptr) continue;
    ++found;
    EXPECT_NE(op->regions->counts, nullptr) << op->name;
    EXPECT_NE(op->regions->evaluate, nullptr) << op->name;
    EXPECT_GT(std::string_view(op->doc).size(), 10u) << op->name;
    std::vector<Value> args(op->params.size()), results(op->outputs.size());
    EXPECT_THROW(op->call(args, results), Error) << op->name;
  }
  EXPECT_EQ(found, 6);
}

}  // namespace
}  // namespace proa::inline v0::jit
