#include "profiler/events.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/clock.h"

namespace proa::inline v0::profiler {
namespace {

class EventsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    Stop();
    internal::SetClockForTest(nullptr);
    Start();
    Stop();
  }
};

TEST_F(EventsTest, OffByDefault) {
  EXPECT_FALSE(Enabled());
  { Range range("unseen"); }
  Instant("unseen");
  Counter("unseen", 1);
  FlowBegin("unseen", 1);
  Allocated("cpu", "unseen", 1, 2, 3);
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
  ASSERT_EQ(r.processes.size(), 1u);
  EXPECT_EQ(r.processes[0].system_id, getpid());
}

TEST_F(EventsTest, TimesAreThoseOfTheMonotonicClock) {
  Start();
  const int64_t before = internal::MonotonicNs();
  {
    Range range("sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const int64_t after = internal::MonotonicNs();
  Stop();
  const Event e = Collect().events.at(0);
  // The two clocks are read at slightly different moments.
  constexpr int64_t kSlack = 1'000'000;
  EXPECT_GT(e.start_ns, before - kSlack);
  EXPECT_LT(e.end_ns, after + kSlack);
  EXPECT_GE(e.end_ns - e.start_ns, 19'900'000);
}

TEST_F(EventsTest, RangesBelongToOneRecording) {
  auto before = std::make_unique<Range>("before start");
  Start();
  auto across = std::make_unique<Range>("across recordings");
  OpenRange open = BeginRange();
  Stop();
  before.reset();
  across.reset();
  EndRange(&open, "open");
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

TEST_F(EventsTest, EventsAfterStopAreDropped) {
  Start();
  Instant("in time");
  Stop();
  Instant("late");
  Counter("late", 1);
  FlowBegin("late", 1);
  FlowEnd("late", 1);
  Allocated("cpu", "late", 1, 2, 3);
  Freed("cpu", "late", 1, 2, 3);
  AddEvent("late", "user", internal::MonotonicNs(), internal::MonotonicNs());
  { Range range("late"); }
  OpenRange open = BeginRange();
  EXPECT_EQ(open.recording, 0u);
  EndRange(&open, "late");
  for (int i = 0; i < 2; ++i) {  // also by Take, which stops what is stopped
    const Recording r = i == 0 ? Collect() : Take();
    ASSERT_EQ(r.events.size(), 1u);
    EXPECT_STREQ(r.events[0].name, "in time");
    EXPECT_EQ(r.dropped, 0);
  }
}

TEST_F(EventsTest, TheOldestEventsGiveWay) {
  Start({.events_per_thread = 3});
  for (int i = 0; i < 10; ++i) Counter("i", i);
  Stop();
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_EQ(r.events[0].value, 7);
  EXPECT_EQ(r.events[2].value, 9);
  EXPECT_EQ(r.dropped, 7);
  Start();
  EXPECT_EQ(Collect().dropped, 0);
}

TEST_F(EventsTest, AllRingsTogetherAreBounded) {
  Start({.events_per_thread = 100, .max_bytes = 150 * 64});
  Instant("fits");
  std::thread([] { Instant("does not"); }).join();
  Stop();
  const Recording r = Collect();
  EXPECT_EQ(r.events.size(), 1u);
  EXPECT_EQ(r.dropped, 1);
  Start({.events_per_thread = 0});
  Instant("no room at all");
  EXPECT_EQ(Collect().dropped, 1);
  Start({.events_per_thread = INT64_MAX});
  Instant("more than there is");
  EXPECT_EQ(Collect().dropped, 1);
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

// A reader beside a writer sees whole events only: both halves of each counter
// are equal.
TEST_F(EventsTest, ReadingBesideAWriterSeesWholeEvents) {
  Start({.events_per_thread = 64});
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !done; ++i) {
      Allocated("cpu", "tensor", i, static_cast<int64_t>(i),
                static_cast<int64_t>(i));
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const Recording r = Collect();
    for (const Event& e : r.events) {
      ASSERT_EQ(e.value, static_cast<double>(e.correlation));
      ASSERT_EQ(e.value, e.total);
    }
    ASSERT_LE(r.events.size(), 64u);
  }
  done = true;
  writer.join();
}

TEST_F(EventsTest, ThreadsWriteWhileRecordingsChange) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) Range range("w");
  });
  for (int i = 0; i < 200; ++i) {
    Start({.events_per_thread = 100});
    Collect();
    if (i % 2 == 0) {
      Stop();
    } else {
      Take();
    }
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
  EXPECT_STREQ(Intern(std::string_view("a\0b", 3)), "a");
}

TEST_F(EventsTest, DetailsAreInterned) {
  const Details* d = InternDetails({.shapes = "[2]", .flops = 2});
  EXPECT_EQ(d, InternDetails({.shapes = d->shapes, .flops = 2}));
  EXPECT_NE(d, InternDetails({.shapes = d->shapes, .flops = 3}));
  Start();
  {
    Range range("op");
    range.set_details(d);
    range.set_correlation(17);
  }
  Stop();
  const Event e = Collect().events.at(0);
  EXPECT_EQ(e.details, d);
  EXPECT_EQ(e.correlation, 17u);
}

TEST_F(EventsTest, AddsMeasuredEvents) {
  AddEvent("off", "op", 1, 2);
  Start();
  AddEvent("on", "op", 1, 2);
  Stop();
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 1u);
  EXPECT_EQ(r.events[0].start_ns, 1);
  EXPECT_EQ(r.events[0].end_ns, 2);
}

TEST_F(EventsTest, AllKinds) {
  Start({.details = kMemory});
  EXPECT_TRUE(Wants(kMemory));
  EXPECT_FALSE(Wants(kShapes));
  Instant("instant", "c");
  Counter("counter", -2.5);
  const uint64_t id = NewFlowId();
  EXPECT_NE(id, NewFlowId());
  FlowBegin("flow", id);
  FlowEnd("flow", id);
  Allocated("cpu", "tensor", 0x1000, 64, 128);
  Freed("cpu", "tensor", 0x1000, 64, 64);
  Stop();
  EXPECT_FALSE(Wants(kMemory));
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 6u);
  std::vector<EventKind> kinds;
  for (const Event& e : r.events) kinds.push_back(e.kind);
  EXPECT_EQ(kinds,
            (std::vector<EventKind>{EventKind::kInstant, EventKind::kCounter,
                                    EventKind::kFlowBegin, EventKind::kFlowEnd,
                                    EventKind::kAllocate, EventKind::kFree}));
  EXPECT_EQ(r.events[1].value, -2.5);
  EXPECT_EQ(r.events[2].correlation, id);
  EXPECT_STREQ(r.events[4].category, "cpu");
  EXPECT_EQ(r.events[4].value, 64);
  EXPECT_EQ(r.events[4].total, 128);
  EXPECT_EQ(r.events[4].correlation, 0x1000u);
  EXPECT_EQ(r.events[4].details, nullptr);
}

TEST_F(EventsTest, EventsCarryThePathTheyEndIn) {
  Start();
  {
    const PathScope outer("net");
    {
      const PathScope inner("net.fc");
      Instant("inside");
    }
    Instant("outside");
  }
  Instant("nowhere");
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_STREQ(r.events[0].path, "net.fc");
  EXPECT_STREQ(r.events[1].path, "net");
  EXPECT_EQ(r.events[2].path, nullptr);
}

TEST_F(EventsTest, ThreadsHaveNames) {
  Start();
  std::thread([] {
    Instant("i");
    SetThreadName("reader of batches, a long name");
  }).join();
  std::thread([] { Instant("i"); }).join();
  const Recording r = Collect();
  ASSERT_EQ(r.threads.size(), 2u);
  EXPECT_EQ(r.threads[0].name, "reader of batches, a long name");
  EXPECT_FALSE(r.threads[1].name.empty());
}

TEST_F(EventsTest, ARangeThatEndsOnAnotherThreadBelongsToTheFirst) {
  Start();
  OpenRange open = BeginRange();
  Instant("first thread");
  std::thread([&] {
    Instant("second thread");
    EndRange(&open, "across");
  }).join();
  EndRange(&open, "again");
  OpenRange never;
  EndRange(&never, "never began");
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_STREQ(r.events[0].name, "across");
  EXPECT_EQ(r.events[0].kind, EventKind::kAsync);
  EXPECT_EQ(r.events[0].thread, 0u);
  EXPECT_EQ(r.events[2].thread, 1u);
}

std::atomic<int64_t> fake_time{0};

TEST_F(EventsTest, KernelsHaveATrackBesideTheirThread) {
  std::thread other([] { Range range("before"); });
  other.join();
  Start({.details = kKernels});
  AddKernel({}, 0, "no range");
  OpenRange op = BeginRange();
  AddKernel(op, internal::Ticks(), "not marked");
  const int64_t start = internal::Ticks();
  MarkEnd(&op);
  AddKernel(op, start, "add float32");
  EndRange(&op, "add", "op");
  std::thread worker([] {
    SetThreadName("worker");
    OpenRange mine = BeginRange();
    MarkEnd(&mine);
    AddKernel(mine, mine.start, "exp float32");
    EndRange(&mine, "exp", "op");
  });
  worker.join();
  const Recording r = Take();
  AddKernel(op, start, "too late");
  ASSERT_EQ(r.threads.size(), 4u);
  std::map<std::string, const Event*> found;
  for (const Event& e : r.events) found[e.name] = &e;
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [kernel, name] :
       {std::pair{"add float32", "add"}, {"exp float32", "exp"}}) {
    const Event& k = *found.at(kernel);
    const Event& range = *found.at(name);
    EXPECT_STREQ(k.category, "kernel");
    EXPECT_GE(k.start_ns, range.start_ns);
    EXPECT_EQ(k.end_ns, range.end_ns);
    EXPECT_EQ(r.threads[k.thread].device, "cpu");
    EXPECT_EQ(r.threads[range.thread].device, "");
    EXPECT_EQ(r.threads[k.thread].system_id, r.threads[range.thread].system_id);
  }
  EXPECT_EQ(r.threads[found.at("exp float32")->thread].name, "worker");
}

TEST_F(EventsTest, AClockThatGoesBackGivesEmptyRanges) {
  internal::SetClockForTest([] { return fake_time.load(); });
  fake_time = 1000;
  Start();
  {
    Range range("back");
    fake_time = 400;
  }
  {
    Range range("on");
    fake_time = 700;
  }
  Stop();
  const Recording r = Collect();
  ASSERT_EQ(r.events.size(), 2u);
  EXPECT_STREQ(r.events[0].name, "on");
  EXPECT_EQ(r.events[0].end_ns - r.events[0].start_ns, 300);
  EXPECT_EQ(r.events[1].start_ns, 1000);
  EXPECT_EQ(r.events[1].end_ns, 1000);
  EXPECT_EQ(r.clock_steps, 1);
}

TEST_F(EventsTest, AChildOfForkStartsAfresh) {
  Start();
  Instant("of the parent");
  std::atomic<bool> done{false};
  std::thread other([&] {  // holds locks now and then
    while (!done) SetThreadName("n");
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool good = !Enabled() && Collect().events.empty();
      { Range range("unseen"); }
      Start();
      { Range range("of the child"); }
      Stop();
      const Recording r = Collect();
      good =
          good && r.events.size() == 1 && r.processes[0].system_id == getpid();
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  done = true;
  other.join();
  EXPECT_TRUE(Enabled());
  EXPECT_EQ(Collect().events.size(), 1u);
}

TEST_F(EventsTest, TakeEmptiesTheRecorder) {
  Start();
  Instant("i");
  EXPECT_EQ(Take().events.size(), 1u);
  EXPECT_FALSE(Enabled());
  EXPECT_TRUE(Take().events.empty());
}

}  // namespace
}  // namespace proa::inline v0::profiler
