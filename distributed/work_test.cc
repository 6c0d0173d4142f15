#include "distributed/work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace proa::distributed {
namespace {

TEST(LaneTest, WaitedForRunsOnTheCallersThread) {
  Lane lane;
  const auto self = std::this_thread::get_id();
  bool was_here = false;
  const auto work = lane.Run(
      [&](bool here) { was_here = here && std::this_thread::get_id() == self; },
      /*wait=*/true);
  EXPECT_TRUE(was_here);
  EXPECT_TRUE(work->IsDone());
  EXPECT_TRUE(work->Wait(Limit(0)));
}

TEST(LaneTest, OneAfterTheOtherInOrder) {
  Lane lane;
  std::vector<int> order;  // unguarded: works must not overlap
  std::vector<std::shared_ptr<Work>> works;
  for (int i = 0; i < 100; ++i) {
    works.push_back(
        lane.Run([&order, i](bool) { order.push_back(i); }, i % 10 == 9));
  }
  for (const auto& w : works) EXPECT_TRUE(w->Wait());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(LaneTest, WaitEndsWithItsLimit) {
  Lane lane;
  std::promise<void> gate;
  const auto work =
      lane.Run([&](bool) { gate.get_future().wait(); }, /*wait=*/false);
  EXPECT_FALSE(work->Wait(Limit(0)));
  EXPECT_FALSE(work->Wait(Limit(30)));
  EXPECT_FALSE(work->IsDone());
  gate.set_value();
  EXPECT_TRUE(work->Wait());
  EXPECT_TRUE(work->IsDone());
}

TEST(LaneTest, ErrorsGoToWhoWaitsEachTime) {
  Lane lane;
  const auto fails = [](bool) { throw std::runtime_error("no"); };
  EXPECT_THROW(lane.Run(fails, /*wait=*/true), std::runtime_error);
  const auto work = lane.Run(fails, /*wait=*/false);
  EXPECT_THROW(work->Wait(), std::runtime_error);
  EXPECT_THROW(work->Wait(), std::runtime_error);
  EXPECT_TRUE(work->IsDone());
  // It goes on.
  EXPECT_TRUE(lane.Run([](bool) {}, /*wait=*/false)->Wait());
}

TEST(LaneTest, WaitsForWhatRunsAndDropsTheRest) {
  std::promise<void> began, gate;
  std::atomic<bool> ended{false}, second{false};
  std::shared_ptr<Work> never;
  std::thread opener;
  {
    Lane lane;
    lane.Run(
        [&](bool) {
          began.set_value();
          gate.get_future().wait();
          ended = true;
        },
        /*wait=*/false);
    began.get_future().wait();
    never = lane.Run([&](bool) { second = true; }, /*wait=*/false);
    // The lane's end, which begins meanwhile, has to wait for this.
    opener = std::thread([&] {
      std::this_thread::sleep_for(Limit(50));
      gate.set_value();
    });
  }
  EXPECT_TRUE(ended);
  opener.join();
  EXPECT_FALSE(second);
  EXPECT_FALSE(never->Wait(Limit(0)));
}

TEST(LaneTest, ManyThreadsShareIt) {
  Lane lane;
  int sum = 0;  // unguarded: works must not overlap
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        lane.Run([&](bool) { ++sum; }, (i + t) % 2 == 0)->Wait();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sum, 800);
}

}  // namespace
}  // namespace proa::distributed
