#include "distributed/job.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "distributed/fabric.h"
#include "distributed/thread_ranks.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::distributed {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Tensor Number(int64_t value) {
  Tensor t = Tensor::Empty({1}, DType::kInt64);
  t.data<int64_t>()[0] = value;
  return t;
}

TEST(JobTest, GroupsOverlap) {
  ExpectNone(RunThreads(3, [](std::shared_ptr<Fabric> fabric) {
    const int rank = fabric->rank();
    Job job(fabric);
    const auto sum = [&](int64_t id) {
      const Tensor x = Number(rank + 1);
      job.Group(id)->Start(
          {.kind = Collective::kAllReduce, .group = id, .in = x, .out = x},
          true);
      return x.data<int64_t>()[0];
    };
    job.NewGroup({.id = 0, .members = {0, 1, 2}});
    if (rank != 2) job.NewGroup({.id = 1, .members = {0, 1}});
    if (rank != 0) job.NewGroup({.id = 2, .members = {1, 2}});
    EXPECT_EQ(sum(0), 6);
    if (rank != 2) {
      EXPECT_EQ(sum(1), 3);
    }
    if (rank != 0) {
      EXPECT_EQ(job.Group(2)->rank(), rank - 1);
      EXPECT_EQ(sum(2), 5);
    }
    EXPECT_EQ(sum(0), 6);
  }));
}

TEST(JobTest, NamesTheGroupThatIsNone) {
  const auto errors = RunThreads(2, [](std::shared_ptr<Fabric> fabric) {
    Job job(fabric);
    job.NewGroup({.id = 0, .members = {0, 1}});
    EXPECT_THROW(job.NewGroup({.id = 0, .members = {0, 1}}), Error);
    job.ForgetGroup(7);  // none: nothing to do
    job.Group(7);
  });
  EXPECT_TRUE(Contains(errors[0], "rank 0 is in no group 7")) << errors[0];
  EXPECT_TRUE(Contains(errors[1], "rank 1 is in no group 7")) << errors[1];
}

TEST(JobTest, AForgottenGroupEnds) {
  ExpectNone(RunThreads(2, [](std::shared_ptr<Fabric> fabric) {
    Job job(fabric);
    const auto group = job.NewGroup({.id = 3, .members = {0, 1}});
    const Tensor x = Number(1);
    group->Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
    job.ForgetGroup(3);
    EXPECT_THROW(job.Group(3), Error);
    // Its number is free.
    const auto again = job.NewGroup({.id = 4, .members = {0, 1}});
    again->Start({.kind = Collective::kBarrier}, true);
  }));
}

TEST(JobTest, CollectivesOfAThreadAreOfItsJob) {
  EXPECT_EQ(CurrentJob(), nullptr);
  ExpectNone(RunThreads(2, [](std::shared_ptr<Fabric> fabric) {
    const auto job = std::make_shared<Job>(fabric);
    job->NewGroup({.id = 0, .members = {0, 1}});
    SetJobOfThread(job);
    const Tensor x = Number(10 + fabric->rank());
    RunCollective({.kind = Collective::kAllReduce, .in = x, .out = x});
    EXPECT_EQ(x.data<int64_t>()[0], 21);
    SetJobOfThread(nullptr);
    // Alone again.
    RunCollective({.kind = Collective::kAllReduce, .in = x, .out = x});
    EXPECT_EQ(x.data<int64_t>()[0], 21);
  }));
}

TEST(JobTest, TheJobOfTheProcessIsThatOfThreadsWithoutOne) {
  const auto job = std::make_shared<Job>(NewThreadFabric("of process", 0, 1));
  SetJobOfProcess(job);
  std::thread([&] { EXPECT_EQ(CurrentJob(), job); }).join();
  const auto own = std::make_shared<Job>(NewThreadFabric("of thread", 0, 1));
  SetJobOfThread(own);
  EXPECT_EQ(CurrentJob(), own);
  SetJobOfThread(nullptr);
  SetJobOfProcess(nullptr);
  EXPECT_EQ(CurrentJob(), nullptr);
}

// A rank whose thread ends without its job saying goodbye is lost, and the
// error names it and the op.
TEST(JobTest, ALostRankIsNamed) {
  const auto errors = RunThreads(3, [](std::shared_ptr<Fabric> fabric) {
    const Tensor x = Number(1);
    ProcessGroup group(fabric, {.id = 0, .members = {0, 1, 2}});
    group.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
    if (fabric->rank() == 1) return;
    group.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
  });
  EXPECT_EQ(errors[1], "");
  for (const int rank : {0, 2}) {
    EXPECT_TRUE(Contains(errors[rank], "rank 1")) << errors[rank];
    EXPECT_TRUE(Contains(errors[rank], "all_reduce")) << errors[rank];
  }
}

TEST(JobTest, ThreadsThatDisagreeOnTheirNumber) {
  const auto first = NewThreadFabric("two", 0, 2);
  EXPECT_THROW(NewThreadFabric("two", 1, 3), Error);
  EXPECT_EQ(NewThreadFabric("two", 1, 2)->size(), 2);
}

}  // namespace
}  // namespace proa::distributed
