#include "tensor/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace proa::inline v0 {
namespace {

TEST(CpuCount, ParsesQuotas) {
  EXPECT_EQ(ParseCpuMax("150000 100000\n"), 1.5);
  EXPECT_EQ(ParseCpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(ParseCpuMax("-1\n 100000\n"), std::nullopt);
  EXPECT_EQ(ParseCpuMax("100000 0"), std::nullopt);
  EXPECT_EQ(ParseCpuMax(""), std::nullopt);
  EXPECT_EQ(ParseCpuMax("100000"), std::nullopt);
}

TEST(CpuCount, FindsTheCgroup) {
  EXPECT_EQ(CgroupPath("0::/user.slice/a\n", ""), "/user.slice/a");
  EXPECT_EQ(CgroupPath("0::/\n", ""), "");
  const char* v1 = "4:memory:/m\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/y\n";
  EXPECT_EQ(CgroupPath(v1, "cpu"), "/docker/x");
  EXPECT_EQ(CgroupPath(v1, "cpua"), "");
  EXPECT_EQ(CgroupPath(v1, ""), "");
  EXPECT_EQ(CgroupPath("nonsense", "cpu"), "");
}

TEST(CpuCount, FollowsTheAffinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(CountAvailableCpus(), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(CountAvailableCpus(), 1);
  sched_setaffinity(0, sizeof(before), &before);
}

}  // namespace
}  // namespace proa::inline v0
