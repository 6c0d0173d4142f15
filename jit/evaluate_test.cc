#include "jit/evaluate.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/program_for_test.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(Evaluate, StoresWhatOperationsGiveAndReleases) {
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = input \"x\" : [2] float32\n"
      "  %2 = add(%0, %1) : [2] float32\n"
      "  %3 = neg(%2) : [2] float32\n",
      {Floats({1, 2})});
  Environment env = MakeEnvironment(*program);
  ASSERT_TRUE(env[0].defined());
  EXPECT_FALSE(env[1].defined());
  env[1] = Floats({10, 20});
  const ReleasePlan release = {{1}, {2}};
  Evaluate(*program, program->block(), env, &release);
  EXPECT_FALSE(env[1].defined());
  EXPECT_FALSE(env[2].defined());
  EXPECT_EQ(Elements(env[3]), std::vector<float>({-11, -22}));
}

TEST(Evaluate, ErrorsNameTheOperation) {
  const auto program = Parse(
      "  %0 = input \"x\" : [?] float32\n"
      "  %1 = input \"y\" : [?] float32\n"
      "  %2 = add(%0, %1) : [?] float32\n");
  program->block().operations[0].where = "train.py:12";
  Environment env = MakeEnvironment(*program);
  env[0] = Floats({1, 2});
  env[1] = Floats({1, 2, 3});
  try {
    Evaluate(*program, program->block(), env);
    FAIL() << "sizes that do not fit were taken";
  } catch (const Error& e) {
    const std::string said = e.what();
    EXPECT_NE(said.find("in the program: %2 = add(%0, %1"), std::string::npos)
        << said;
    EXPECT_NE(said.find("recorded: train.py:12"), std::string::npos) << said;
  }
}

// Where results lie, and those that it is to hold.
class Places final : public Watch {
 public:
  explicit Places(bool holds) : holds_(holds) {}
  void Before(const Program&, const Operation&, const Environment&) override {}
  void After(const Program&, const Operation& o,
             const Environment& env) override {
    const Tensor& t = env[o.results[0][0]];
    data.push_back(t.raw_data());
    if (holds_) held.push_back(t);
  }
  std::vector<void*> data;
  std::vector<Tensor> held;

 private:
  const bool holds_;
};

// Where nobody else needs what is added, the result takes its memory.
TEST(Evaluate, ResultsTakeTheMemoryOfWhatIsGiven) {
  const std::string attributes =
      "stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, "
      "data_format=\"NCHW\", padding_algorithm=\"EXPLICIT\") : [1, 4, 2, 2] "
      "float32\n";
  const auto program = Parse(
      "  %0 = input \"x\" : [1, 4, 2, 2] float32\n"
      "  %1 = input \"k\" : [4, 4, 1, 1] float32\n"
      "  %2 = conv2d(%0, %1, None, " +
      attributes +
      "  %3 = conv2d_activation(%0, %1, None, %2, None, activation=\"relu\", "
      "alpha=0.0, beta=0.0, " +
      attributes + "  %4 = neg(%2) : [1, 4, 2, 2] float32\n");
  const Tensor x = Tensor::Empty({1, 4, 2, 2}, DType::kFloat32);
  const Tensor k = Tensor::Empty({4, 4, 1, 1}, DType::kFloat32);
  for (int i = 0; i < 16; ++i) {
    x.data<float>()[i] = 3;
    k.data<float>()[i] = i % 5 == 0 ? 1 : 0;
  }
  const auto run = [&](std::vector<ValueId> fetches, bool holds) {
    const Executor executor(*program, std::move(fetches), Changes::kAll, {});
    Places places(holds);
    const std::vector<std::pair<ValueId, Tensor>> feeds = {{0, x}, {1, k}};
    const WatchScope scope(&places);
    const std::vector<Tensor> results = executor.Run(feeds);
    EXPECT_EQ(results[0].data<float>()[15], 6.f);
    for (const Tensor& t : results) {
      EXPECT_TRUE(t.is_same(results[0]) || t.data<float>()[15] == -3.f);
    }
    for (size_t i = 0; i < places.held.size(); ++i) {
      EXPECT_EQ(places.held[i].data<float>()[15], i == 0 ? 3.f : 6.f);
    }
    return places.data[0] == places.data[1];
  };
  EXPECT_TRUE(run({3}, false));
  // Another operation reads it later, or somebody else holds it.
  EXPECT_FALSE(run({3, 4}, false));
  EXPECT_FALSE(run({3}, true));
}

class Notes final : public Watch {
 public:
  void Before(const Program&, const Operation& o,
              const Environment& env) override {
    said.push_back(absl::StrCat("before ", o.op->name,
                                env[std::get<ValueRef>(o.args[0]).id].defined()
                                    ? ""
                                    : ": nothing there"));
  }
  void After(const Program& program, const Operation& o,
             const Environment& env) override {
    said.push_back(
        absl::StrCat("after ", o.op->name,
                     env[o.results[0][0]].defined() ? "" : ": nothing there"));
    if (said.size() > 2) return;
    Environment own = MakeEnvironment(program);  // is not shown
    own[0] = Floats({1});
    Evaluate(program, program.block(), own);
  }
  std::vector<std::string> said;
};

// Also values whose last use is the operation, and results nobody reads.
TEST(Evaluate, IsWatched) {
  const auto program = Parse(
      "  %0 = input \"x\" : [1] float32\n"
      "  %1 = neg(%0) : [1] float32\n"
      "  %2 = exp(%1) : [1] float32\n");
  const ReleasePlan release = {{0}, {1, 2}};
  Notes notes;
  for (const bool shown : {true, false}) {
    Environment env = MakeEnvironment(*program);
    env[0] = Floats({1});
    const WatchScope scope(&notes);
    const WatchScope hidden(shown ? &notes : nullptr);
    Evaluate(*program, program->block(), env, &release);
  }
  EXPECT_EQ(notes.said, (std::vector<std::string>{"before neg", "after neg",
                                                  "before exp", "after exp"}));
  Environment env = MakeEnvironment(*program);
  env[0] = Floats({1});
  Evaluate(*program, program->block(), env, &release);
  EXPECT_EQ(notes.said.size(), 4u);
}

TEST(Evaluate, AnotherLookChangesNothing) {
  const Tensor w = Floats({1, 2});
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n"
      "  store_(%0, %1)\n",
      {w});
  {
    const WithoutChanges unchanged;
    { const WithoutChanges nested; }
    Environment env = MakeEnvironment(*program);
    Evaluate(*program, program->block(), env);
    EXPECT_EQ(Elements(w), std::vector<float>({1, 2}));
  }
  Environment env = MakeEnvironment(*program);
  Evaluate(*program, program->block(), env);
  EXPECT_NE(Elements(w)[0], 1);
}

// Whether it may was asked when it was recorded.
TEST(Evaluate, WritesIntoWhatRequiresGrad) {
  const Tensor w = Floats({1, 2});
  autograd::SetRequiresGrad(w, true);
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n"
      "  %2 = detach(%1) : [2] float32\n"
      "  store_(%0, %2)\n"
      "  %3 = neg(%0) : [2] float32\n",
      {w});
  Environment env = MakeEnvironment(*program);
  Evaluate(*program, program->block(), env);
  EXPECT_NEAR(Elements(w)[0], 2.71828f, 1e-4f);
  EXPECT_TRUE(autograd::RequiresGrad(w));
  EXPECT_TRUE(autograd::RequiresGrad(env[3]));  // as before
  EXPECT_FALSE(autograd::RequiresGrad(env[2]));
}

TEST(EvaluateRegion, IsAFunctionOfItsArguments) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = input \"p\" : [] bool\n"
      "  (%5) = while([%0]) {\n"
      "    %2 = argument : [2] float32\n"
      "    return %1\n"
      "  } {\n"
      "    %3 = argument : [2] float32\n"
      "    %4 = add(%3, %0) : [2] float32\n"
      "    return %4\n"
      "  } : [2] float32\n");
  Environment env = MakeEnvironment(*program);
  env[0] = Floats({1, 2});
  const Block& body = *program->block().operations[0].regions[1];
  for (const float x : {10.f, 20.f}) {
    const auto out = EvaluateRegion(*program, body, {Floats({x, x})}, env);
    EXPECT_EQ(Elements(out[0]), std::vector<float>({x + 1, x + 2}));
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
