#include "profiler/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace proa::inline v0::profiler {
namespace {

class EventsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    Stop();
    Start();
    Stop();
  }
};

TEST_F(EventsTest, OffByDefault) {
  EXPECT_FALSE(Enabled());
  { Range range("unseen"); }
  EXPECT_TRUE(Collect().events.empty());
  Stop();
}

TEST_F(EventsTest, RecordsNestedRanges) {
  Start();
  EXPECT_TRUE(Enabled());
  {
    Range outer("outer", "op");
    Range inner("inner");
  }
  Stop();
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 2u);
  const Event &outer = r.events[0], &inner = r.events[1];
  EXPECT_STREQ(outer.name, "outer");
  EXPECT_STREQ(outer.category, "op");
  EXPECT_STREQ(inner.name, "inner");
  EXPECT_STREQ(inner.category, "user");
  EXPECT_LE(r.start_ns, outer.start_ns);
  EXPECT_LE(outer.start_ns, inner.start_ns);
  EXPECT_LE(inner.start_ns, inner.end_ns);
  EXPECT_LE(inner.end_ns, outer.end_ns);
  EXPECT_LE(outer.end_ns, r.stop_ns);
  EXPECT_EQ(r.dropped, 0);
  ASSERT_EQ(r.threads.size(), 1u);
  EXPECT_GT(r.threads[0].system_id, 0);
}

TEST_F(EventsTest, RangesBelongToOneRecording) {
  auto before = std::make_unique<Range>("before start");
  Start();
  auto across = std::make_unique<Range>("across recordings");
  Stop();
  before.reset();
  across.reset();
  EXPECT_TRUE(Collect().events.empty());
  Start();
  { Range range("new"); }
  Start();  // anew
  EXPECT_TRUE(Collect().events.empty());
  { Range range("newest"); }
  const Recording r = Collect();  // while it runs
  ASSERT_EQ(r.events.size(), 1u);
  EXPECT_STREQ(r.events[0].name, "newest");
}

TEST_F(EventsTest, BuffersAreBounded) {
  Start({.events_per_thread = 3});
  for (int i = 0; i < 10; ++i) Range range("r");
  Stop();
  EXPECT_EQ(Collect().events.size(), 3u);
  EXPECT_EQ(Collect().dropped, 7);
  Start();
  EXPECT_EQ(Collect().dropped, 0);
}

TEST_F(EventsTest, ManyThreadsWhileCollecting) {
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) Range range("work");
    });
  }
  for (int i = 0; i < 20; ++i) Collect();
  for (auto& t : threads) t.join();
  Stop();
  const Recording r = Collect();  // also of threads that have ended
  EXPECT_EQ(r.threads.size(), 4u);
  EXPECT_EQ(r.events.size(), 4000u);
  EXPECT_TRUE(std::is_sorted(
      r.events.begin(), r.events.end(),
      [](const Event& a, const Event& b) { return a.start_ns < b.start_ns; }));
}

TEST_F(EventsTest, ThreadsWriteWhileRecordingsChange) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) Range range("w");
  });
  for (int i = 0; i < 200; ++i) {
    Start({.events_per_thread = 100});
    Collect();
    Stop();
  }
  done = true;
  writer.join();
}

TEST_F(EventsTest, InternGivesOnePointerAName) {
  const std::string name = "made at run time";
  const char* a = Intern(name);
  EXPECT_EQ(a, Intern("made at run time"));
  EXPECT_NE(a, Intern("other"));
  EXPECT_EQ(a, name);
}

TEST_F(EventsTest, AddsMeasuredEvents) {
  AddEvent("off", "op", 1, 2);
  Start();
  AddEvent("on", "op", 1, 2);
  Stop();
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 1u);
  EXPECT_EQ(r.events[0].end_ns, 2);
}

}  // namespace
}  // namespace proa::inline v0::profiler
