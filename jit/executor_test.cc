#include "jit/executor.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "ops/elementwise/exponential_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(Executor, ReleasesAndSkips) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n"
      "  %2 = log(%0) : [2] float32\n");
  const Executor executor(*program, {1}, Changes::kNone);
  const Tensor feed = Floats({0, 0});
  const std::pair<ValueId, Tensor> feeds[] = {{0, feed}};
  EXPECT_EQ(Elements(executor.Run(feeds)[0]), std::vector<float>({1, 1}));
  // `feed` and `feeds`: the run kept nothing.
  EXPECT_EQ(feed.impl()->use_count(), 2);
}

TEST(Executor, IsMadeOnceForAVersion) {
  const auto program = std::make_shared<Program>();
  const Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
  const Tensor y = ops::exp(x);
  const std::vector<ValueId> fetch = {SymbolOf(y).id()};
  const auto first = ExecutorOf(*program, fetch);
  EXPECT_EQ(ExecutorOf(*program, fetch), first);
  EXPECT_NE(ExecutorOf(*program, fetch, Changes::kNone), first);
  EXPECT_EQ(ExecutorOf(*program, fetch), first);
  ops::exp(y);
  EXPECT_NE(ExecutorOf(*program, fetch), first);
  EXPECT_THROW(ExecutorOf(*program, {99}), Error);
}

TEST(Executor, KeepsFewOfThem) {
  const auto program = std::make_shared<Program>();
  Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
  std::vector<ValueId> ids;
  for (int i = 0; i < 20; ++i) {
    x = ops::exp(x);
    ids.push_back(SymbolOf(x).id());
  }
  const auto first = ExecutorOf(*program, {ids[0]});
  for (const ValueId id : ids) ExecutorOf(*program, {id});
  EXPECT_NE(ExecutorOf(*program, {ids[0]}), first);
}

TEST(Executor, RefusesValuesOfRegions) {
  EXPECT_THROW(Executor(*Parse(kNested), {3}), Error);
}

TEST(Executor, FeedsMustFitTheirInputs) {
  const auto program = Parse(
      "  %0 = input \"x\" : [?, 2] float32\n"
      "  %1 = input \"n\" : [] int64\n"
      "  %2 = exp(%0) : [?, 2] float32\n");
  const Executor executor(*program, {2});
  const auto said = [&](std::vector<std::pair<ValueId, Tensor>> feeds) {
    try {
      executor.Run(feeds);
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const Tensor right = Tensor::Empty({3, 2}, DType::kFloat32);
  EXPECT_EQ(said({{0, right}}), "nothing");  // n is not needed
  for (const auto& [feeds, says] : std::vector<
           std::pair<std::vector<std::pair<ValueId, Tensor>>, std::string>>{
           {{}, "input 'x' is not fed"},
           {{{2, right}}, "feed %2 is no input of the program"},
           {{{7, right}}, "feed %7 is no input of the program"},
           {{{0, Tensor()}}, "input 'x' needs a tensor with values"},
           {{{0, Floats({1, 2})}}, "expected shape [?, 2]"},
           {{{0, Tensor::Empty({3, 2}, DType::kFloat64)}},
            "expected float32"}}) {
    EXPECT_NE(said(feeds).find(says), std::string::npos) << said(feeds);
  }
}

TEST(Executor, ReplayIsRecordedByWhoRecords) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n");
  const Executor executor(*program, {1});
  const auto outer = std::make_shared<Program>();
  const std::pair<ValueId, Tensor> feeds[] = {
      {0, AddInput(outer, "y", {2}, DType::kFloat32)}};
  const std::vector<Tensor> out = executor.Replay(feeds);
  ASSERT_TRUE(out[0].is_symbolic());
  EXPECT_EQ(SymbolOf(out[0]).program(), outer);
  EXPECT_EQ(outer->block().operations.size(), 1u);
}

TEST(Executor, RunsThePassesThatAreNamed) {
  const auto program = Parse(
      "  %0 = input \"x\" : [1] float32\n"
      "  %1 = exp(%0) : [1] float32\n"
      "  %2 = exp(%0) : [1] float32\n"
      "  %3 = add(%1, %2) : [1] float32\n");
  const auto count = [&](std::span<const std::string_view> passes) {
    const Executor e(*program, {3}, Changes::kAll, passes);
    return e.program().block().operations.size();
  };
  constexpr std::string_view kOne[] = {"common_subexpressions"};
  constexpr std::string_view kNone[] = {"fancy"};
  EXPECT_EQ(count({}), 3u);
  EXPECT_EQ(count(kOne), 2u);
  EXPECT_THROW(count(kNone), Error);
}

TEST(Executor, RunsOnManyThreadsAtOnce) {
  const auto program = Parse(
      "  %0 = input \"x\" : [1] float32\n"
      "  %1 = add(%0, %0) : [1] float32\n"
      "  %2 = add(%1, %0) : [1] float32\n");
  const Executor executor(*program, {2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&executor, t] {
      for (int i = 0; i < 200; ++i) {
        const float x = static_cast<float>(1000 * t + i);
        const std::pair<ValueId, Tensor> feeds[] = {{0, Floats({x})}};
        EXPECT_EQ(executor.Run(feeds)[0].data<float>()[0], 3 * x);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace proa::inline v0::jit
