#include "tensor/execution.h"

#include <omp.h>

#include <atomic>
#include <set>
#include <thread>

#include "gtest/gtest.h"
#include "tensor/error.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"

namespace proa::inline v0 {
namespace {

TEST(Execution, ThreadsOfThisThreadAlone) {
  SetNumThreads(3);
  {
    const ExecutionScope scope({.num_threads = 1});
    EXPECT_EQ(GetNumThreads(), 1);
    EXPECT_EQ(omp_get_max_threads(), 1);
    int elsewhere = 0;
    std::thread([&] { elsewhere = GetNumThreads(); }).join();
    EXPECT_EQ(elsewhere, 3);
    std::atomic<int> pieces = 0;
    parallel_for(0, 1000, 1, [&](int64_t, int64_t) { ++pieces; });
    EXPECT_EQ(pieces, 1);
    const ExecutionScope inner({.num_threads = 2});
    EXPECT_EQ(GetNumThreads(), 2);
    EXPECT_EQ(omp_get_max_threads(), 2);
  }
  EXPECT_EQ(GetNumThreads(), 3);
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST(Execution, ScopesInherit) {
  Generator own(5);
  const Place host;
  const ExecutionScope outer(
      {.num_threads = 2, .generator = &own, .place = host});
  const ExecutionScope inner({});
  ASSERT_NE(CurrentExecution(), nullptr);
  EXPECT_EQ(CurrentExecution()->num_threads, 2);
  EXPECT_EQ(CurrentExecution()->generator, &own);
  EXPECT_EQ(CurrentExecution()->place, host);
}

TEST(Execution, DrawsOfItsGenerator) {
  Generator own(5), twin(5);
  const GeneratorState before = DefaultGenerator(Place{}).state();
  {
    const ExecutionScope scope({.generator = &own});
    EXPECT_EQ(&DefaultGenerator(Place{}), &own);
    DefaultGenerator(Place{}).Reserve(8);
  }
  EXPECT_NE(&DefaultGenerator(Place{}), &own);
  EXPECT_EQ(DefaultGenerator(Place{}).state().offset, before.offset);
  EXPECT_NE(own.state().offset, twin.state().offset);
}

TEST(Execution, RefusesNonsense) {
  EXPECT_THROW(ExecutionScope({.num_threads = -1}), Error);
  EXPECT_EQ(CurrentExecution(), nullptr);
}

}  // namespace
}  // namespace proa::inline v0
