#include "distributed/flight_recorder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/collective/collective.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::distributed {
namespace {

CallHeader Numbered(uint64_t sequence) {
  CallHeader h;
  h.sequence = sequence;
  return h;
}

TEST(CallHeaderTest, SaysWhatIsCalled) {
  const Tensor x = Tensor::Empty({2, 3}, DType::kBFloat16);
  const CallHeader sum = HeaderOf(
      {.kind = Collective::kAllReduce, .in = x, .out = x}, 7, "train.py:91");
  EXPECT_EQ(sum.Text(), "all_reduce sum of [2, 3] bfloat16 (train.py:91)");
  EXPECT_EQ(sum.sequence, 7u);
  const CallHeader root =
      HeaderOf({.kind = Collective::kBroadcast, .peer = 2, .in = x}, 1, "");
  EXPECT_EQ(root.Text(), "broadcast of [2, 3] bfloat16, root 2");
  EXPECT_EQ(root.Where(), "");
}

TEST(CallHeaderTest, WithoutTensors) {
  EXPECT_EQ(HeaderOf({.kind = Collective::kBarrier}, 1, nullptr).Text(),
            "barrier");
}

TEST(CallHeaderTest, TakesTheOutputWhereThereIsNoInput) {
  const Tensor x = Tensor::Empty({0, 4}, DType::kBool);
  EXPECT_EQ(
      HeaderOf({.kind = Collective::kScatter, .peer = 1, .out = x}, 1, nullptr)
          .Text(),
      "scatter of [0, 4] bool, root 1");
  const Tensor scalar = Tensor::Empty({}, DType::kInt64);
  EXPECT_EQ(HeaderOf({.kind = Collective::kAllGather, .in = scalar}, 1, nullptr)
                .Text(),
            "all_gather of [] int64");
}

TEST(CallHeaderTest, ManyDims) {
  const Tensor x = Tensor::Empty({1, 2, 3, 1, 2, 3, 1}, DType::kFloat32);
  EXPECT_EQ(
      HeaderOf({.kind = Collective::kAllGather, .in = x}, 1, nullptr).Text(),
      "all_gather of [1, 2, 3, 1, 2, 3, ...] float32");
}

TEST(CallHeaderTest, KeepsTheEndOfALongPath) {
  const std::string path = std::string(200, 'x') + "/train.py:1234";
  const CallHeader h =
      HeaderOf({.kind = Collective::kBarrier}, 1, path.c_str());
  const std::string end = path.substr(path.size() - (sizeof h.line - 1));
  EXPECT_EQ(h.Where(), "(" + end + ")");
  EXPECT_EQ(h.Text(), "barrier (" + end + ")");
}

TEST(FlightRecorderTest, BeginsEmpty) {
  EXPECT_TRUE(FlightRecorder().Entries().empty());
}

TEST(FlightRecorderTest, KnowsHowEachEnded) {
  FlightRecorder recorder;
  for (uint64_t i = 1; i <= 3; ++i) recorder.Begin(Numbered(i));
  recorder.End(1, false);
  recorder.End(2, true);
  const std::vector<FlightEntry> entries = recorder.Entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].state, FlightEntry::State::kDone);
  EXPECT_GE(entries[0].ended_ns, entries[0].began_ns);
  EXPECT_EQ(entries[1].state, FlightEntry::State::kFailed);
  EXPECT_EQ(entries[2].state, FlightEntry::State::kRuns);
  EXPECT_EQ(entries[2].ended_ns, 0);
}

TEST(FlightRecorderTest, ForgetsTheOldest) {
  FlightRecorder recorder;
  const uint64_t last = FlightRecorder::kEntries + 5;
  for (uint64_t i = 1; i <= last; ++i) recorder.Begin(Numbered(i));
  // The place of number 1 belongs to a later one, which goes on.
  recorder.End(1, true);
  const std::vector<FlightEntry> entries = recorder.Entries();
  ASSERT_EQ(entries.size(), FlightRecorder::kEntries);
  EXPECT_EQ(entries.front().call.sequence, 6u);
  EXPECT_EQ(entries.back().call.sequence, last);
  for (const FlightEntry& e : entries) {
    EXPECT_EQ(e.state, FlightEntry::State::kRuns);
  }
}

}  // namespace
}  // namespace proa::distributed
