#include "profiler/statistics.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "profiler/testing_recording.h"

namespace proa::inline v0::profiler {
namespace {

using testing::MakeRange;
using testing::MakeRecording;

std::map<std::string, Row> ByName(const Recording& r, const TableOptions& o) {
  std::map<std::string, Row> rows;
  for (Row& row : Table(r, o)) rows[row.name] = row;
  return rows;
}

TEST(StatisticsTest, SelfTimeIsWhatRangesInsideLeave) {
  Recording r = MakeRecording();
  r.events = {MakeRange("a", "c", 0, 100), MakeRange("b", "c", 10, 40),
              MakeRange("d", "c", 20, 30), MakeRange("b", "c", 50, 70)};
  const auto rows = ByName(r, {});
  EXPECT_EQ(rows.at("a").total_ns, 100);
  EXPECT_EQ(rows.at("a").self_ns, 50);
  EXPECT_EQ(rows.at("b").calls, 2);
  EXPECT_EQ(rows.at("b").total_ns, 50);
  EXPECT_EQ(rows.at("b").self_ns, 40);
  EXPECT_EQ(rows.at("b").min_ns, 20);
  EXPECT_EQ(rows.at("b").max_ns, 30);
  EXPECT_EQ(rows.at("b").avg_ns(), 25);
  EXPECT_EQ(Table(r, {})[0].name, "a");  // the largest total first
}

TEST(StatisticsTest, RecursionCountsOnce) {
  Recording r = MakeRecording();
  r.events = {MakeRange("f", "c", 0, 100), MakeRange("f", "c", 10, 90),
              MakeRange("f", "c", 20, 30)};
  const Row f = ByName(r, {}).at("f");
  EXPECT_EQ(f.calls, 3);
  EXPECT_EQ(f.total_ns, 100);
  EXPECT_EQ(f.self_ns, 100);
}

TEST(StatisticsTest, RangesThatCrossDoNotCountTimeTwice) {
  Recording r = MakeRecording();
  r.events = {MakeRange("a", "c", 0, 50), MakeRange("b", "c", 30, 80),
              MakeRange("d", "c", 60, 70)};
  const auto rows = ByName(r, {});
  EXPECT_EQ(rows.at("a").self_ns, 30);
  EXPECT_EQ(rows.at("b").self_ns, 40);
  EXPECT_EQ(rows.at("d").self_ns, 10);
}

TEST(StatisticsTest, ThreadsNestApart) {
  Recording r = MakeRecording(2);
  r.events = {MakeRange("a", "c", 0, 100, 0), MakeRange("b", "c", 10, 20, 1),
              MakeRange("a", "c", 30, 50, 1)};
  const auto rows = ByName(r, {});
  EXPECT_EQ(rows.at("a").self_ns, 120);
  EXPECT_EQ(rows.at("a").total_ns, 120);
  const auto apart = Table(r, {.by_thread = true});
  ASSERT_EQ(apart.size(), 3u);
  EXPECT_EQ(apart[0].thread, 0);
  EXPECT_EQ(apart[0].total_ns, 100);
  EXPECT_EQ(apart[1].thread, 1);
  EXPECT_EQ(apart[1].total_ns, 20);
}

TEST(StatisticsTest, AsyncRangesHaveNoSelfTime) {
  const auto rows = ByName(testing::MakeTraining(), {.categories = {"user"}});
  EXPECT_EQ(rows.at("request").calls, 1);
  EXPECT_EQ(rows.at("request").total_ns, 7400);
  EXPECT_EQ(rows.at("request").self_ns, 0);
}

TEST(StatisticsTest, Categories) {
  const Recording r = testing::MakeTraining();
  const auto ops = ByName(r, {.categories = {"op"}});
  EXPECT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops.at("matmul").total_ns, 2000);
  EXPECT_EQ(ops.at("matmul").backward_ns, 2000);
  EXPECT_EQ(ops.at("linear").backward_ns, 0);
  const auto kinds = ByName(r, {.group_by = GroupBy::kCategory});
  EXPECT_EQ(kinds.at("op").total_ns, 4000);
  EXPECT_EQ(kinds.at("dataloader").total_ns, 1000);
  EXPECT_EQ(kinds.count("kernel"), 0u);  // of a device
  const auto kernels = ByName(r, {.device = true});
  EXPECT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels.at("gemm").total_ns, 1000);
}

TEST(StatisticsTest, LayersHaveTheirBackward) {
  const auto rows =
      ByName(testing::MakeTraining(), {.group_by = GroupBy::kPath});
  ASSERT_EQ(rows.size(), 2u);
  // fc: layer range 2400 of which the op is 2000; backward 3000 of linear_grad.
  EXPECT_EQ(rows.at("net.fc").total_ns, 2400 + 3000);
  EXPECT_EQ(rows.at("net.fc").backward_ns, 3000);
  EXPECT_EQ(rows.at("net.fc").calls, 1);
  EXPECT_EQ(rows.at("net").total_ns, 3000 + 3000);
  EXPECT_EQ(rows.at("net").self_ns, 600);
  const auto lines =
      ByName(testing::MakeTraining(), {.group_by = GroupBy::kSource});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines.at("train.py:12").total_ns, 2000 + 3000);
}

TEST(StatisticsTest, Work) {
  const Recording r = testing::MakeTraining();
  const auto ops = ByName(r, {.categories = {"op"}});
  EXPECT_DOUBLE_EQ(ops.at("linear").gflops_per_s(), 2);
  EXPECT_DOUBLE_EQ(ops.at("linear").gbytes_per_s(), 0.5);
  EXPECT_DOUBLE_EQ(ops.at("linear").of_roof({.gflops_per_s = 8}), 0.25);
  EXPECT_DOUBLE_EQ(
      ops.at("linear").of_roof({.gflops_per_s = 8, .gbytes_per_s = 1}), 0.5);
  EXPECT_EQ(ops.at("linear").of_roof({}), 0);
}

TEST(StatisticsTest, KernelsOfOps) {
  Recording r = MakeRecording(2);
  for (uint32_t t = 0; t < 2; ++t) {
    ThreadInfo cpu = r.threads[t];
    cpu.device = "cpu";
    r.threads.push_back(cpu);
  }
  // A composite with two ops inside; the second ends with it.
  r.events.push_back(MakeRange("outer", "op", 1000, 5000));
  r.events.push_back(MakeRange("exp", "op", 1200, 2000));
  r.events.push_back(MakeRange("exp avx2", "kernel", 1500, 2000, 2));
  r.events.push_back(MakeRange("log", "op", 3000, 4000));  // has failed
  r.events.push_back(MakeRange("exp", "op", 4200, 4900));
  r.events.push_back(MakeRange("exp avx2", "kernel", 4300, 4900, 2));
  // Another thread, at the same times.
  r.events.push_back(MakeRange("exp", "op", 1200, 2000, 1));
  r.events.push_back(MakeRange("exp avx2", "kernel", 1300, 2000, 3));
  testing::Sort(&r);
  const auto ops = ByName(r, {.categories = {"op"}});
  EXPECT_EQ(ops.at("exp").kernel_ns, 500 + 600 + 700);
  EXPECT_EQ(ops.at("exp").total_ns, 800 + 700 + 800);
  EXPECT_EQ(ops.at("log").kernel_ns, 0);
  EXPECT_EQ(ops.at("outer").kernel_ns, 0);
  const auto kernels = ByName(r, {.device = true});
  EXPECT_EQ(kernels.at("exp avx2").calls, 3);
  EXPECT_EQ(kernels.at("exp avx2").total_ns, 500 + 600 + 700);
}

TEST(StatisticsTest, Shapes) {
  const auto rows =
      Table(testing::MakeTraining(),
            {.group_by = GroupBy::kNameAndShapes, .categories = {"op"}});
  ASSERT_EQ(rows.size(), 2u);
  for (const Row& row : rows) {
    EXPECT_EQ(row.shapes, row.name == "linear"
                              ? "[2, 3] float32"
                              : "[3, 2] float32, [2, 4] float32");
  }
}

TEST(StatisticsTest, Memory) {
  const Recording r = testing::MakeTraining();
  const auto rows = MemoryTable(r);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].op, "linear");
  EXPECT_EQ(rows[0].allocated_bytes, 4096);
  EXPECT_EQ(rows[1].op, "matmul");
  EXPECT_EQ(rows[1].largest_bytes, 1024);
  EXPECT_EQ(rows[2].op, "ProfileStep#0");
  EXPECT_EQ(rows[2].freed_bytes, 4096);
  const auto peaks = MemoryPeaks(r);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].peak_bytes, 9216);
  EXPECT_EQ(peaks[0].peak_ns, 7000);
  EXPECT_EQ(peaks[0].first_bytes, 8192);
  EXPECT_EQ(peaks[0].last_bytes, 5120);
}

TEST(StatisticsTest, CallTree) {
  Recording r = MakeRecording();
  r.events = {MakeRange("a", "c", 0, 100), MakeRange("b", "c", 10, 40),
              MakeRange("b", "c", 50, 70), MakeRange("d", "c", 55, 60),
              MakeRange("b", "c", 200, 210)};
  const auto nodes = CallTree(r);
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_STREQ(nodes[1].name, "b");
  EXPECT_EQ(nodes[1].parent, 0u);
  EXPECT_EQ(nodes[1].calls, 2);
  EXPECT_EQ(nodes[1].total_ns, 50);
  EXPECT_EQ(nodes[1].self_ns, 45);
  EXPECT_EQ(nodes[3].parent, 3u);  // a root of its own
  // Without room for more, times go to the nodes around.
  const auto few = CallTree(r, 2);
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[1].calls, 2);
  EXPECT_EQ(few[1].self_ns, 50);
  EXPECT_TRUE(CallTree(r, 0).empty());
}

TEST(StatisticsTest, AnEmptyRecording) {
  const Recording r;
  EXPECT_TRUE(Table(r, {}).empty());
  EXPECT_TRUE(MemoryTable(r).empty());
  EXPECT_TRUE(CallTree(r).empty());
}

}  // namespace
}  // namespace proa::inline v0::profiler
