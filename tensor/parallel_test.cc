#include "tensor/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

class ParallelTest : public ::testing::Test {
 protected:
  void SetUp() override { SetNumThreads(3); }
  void TearDown() override { SetNumThreads(AvailableCpus()); }
};

TEST_F(ParallelTest, CoversTheRangeOnce) {
  for (int64_t n : {0, 1, 2, 7, 1000}) {
    for (int64_t grain : {1, 3, 400, 5000}) {
      std::vector<std::atomic<int>> seen(n);
      parallel_for(0, n, grain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) ++seen[i];
      });
      for (auto& s : seen) EXPECT_EQ(s, 1);
    }
  }
}

TEST_F(ParallelTest, UsesThreadsButNotBelowTheGrain) {
  auto pieces = [](int64_t n, int64_t grain) {
    std::atomic<int> count{0};
    parallel_for(10, 10 + n, grain, [&](int64_t, int64_t) { ++count; });
    return count.load();
  };
  EXPECT_EQ(pieces(100, 1), 3);
  EXPECT_EQ(pieces(100, 50), 2);
  EXPECT_EQ(pieces(99, 50), 1);
  EXPECT_EQ(pieces(0, 1), 0);
  EXPECT_EQ(pieces(-5, 1), 0);
}

TEST_F(ParallelTest, HugeRanges) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  parallel_for(0, kMax, 1, [&](int64_t b, int64_t e) {
    std::lock_guard lock(mutex);
    ranges.emplace_back(b, e);
  });
  // In parts, between which a user may interrupt.
  ASSERT_GE(ranges.size(), 3u);
  ASSERT_LE(ranges.size(), 3u * 1025);
  std::sort(ranges.begin(), ranges.end());
  EXPECT_EQ(ranges.front().first, 0);
  for (size_t i = 1; i < ranges.size(); ++i) {
    ASSERT_EQ(ranges[i].first, ranges[i - 1].second);
  }
  EXPECT_EQ(ranges.back().second, kMax);
}

TEST_F(ParallelTest, NestedLoopsRunSerially) {
  std::atomic<int> inner_calls{0};
  parallel_for(0, 3, 1, [&](int64_t b, int64_t e) {
    EXPECT_TRUE(InParallelRegion());
    for (int64_t i = b; i < e; ++i) {
      parallel_for(0, 1000, 1, [&](int64_t, int64_t) { ++inner_calls; });
    }
  });
  EXPECT_EQ(inner_calls, 3);
  EXPECT_FALSE(InParallelRegion());
}

TEST_F(ParallelTest, CallsFromSeveralThreadsOfTheProgram) {
  constexpr int64_t kN = 3000;
  std::vector<std::vector<int>> seen(4, std::vector<int>(kN, 0));
  std::atomic<int> most_pieces{0};
  std::vector<std::thread> callers;
  for (std::vector<int>& mine : seen) {
    callers.emplace_back([&mine, &most_pieces] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::atomic<int> pieces{0};
        parallel_for(0, kN, 1, [&](int64_t b, int64_t e) {
          ++pieces;
          for (int64_t i = b; i < e; ++i) ++mine[i];
        });
        int most = most_pieces;
        while (pieces > most &&
               !most_pieces.compare_exchange_weak(most, pieces)) {
        }
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_LE(most_pieces, 3);  // as SetNumThreads says
  for (const std::vector<int>& mine : seen) {
    EXPECT_EQ(mine, std::vector<int>(kN, 50));
  }
}

TEST_F(ParallelTest, ThrowsTheErrorOfTheLowestRange) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    try {
      parallel_for(0, 3, 1, [](int64_t b, int64_t) {
        throw std::runtime_error(std::to_string(b));
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "0");
    }
  }
  EXPECT_FALSE(InParallelRegion());
}

TEST_F(ParallelTest, ChunksDoNotDependOnTheThreads) {
  auto chunks = [](int threads) {
    SetNumThreads(threads);
    std::vector<std::pair<int64_t, int64_t>> seen(4);
    parallel_chunks(10, 3, [&](int64_t i, int64_t b, int64_t e) {
      seen[i] = {b, e};
    });
    return seen;
  };
  const std::vector<std::pair<int64_t, int64_t>> expected = {
      {0, 3}, {3, 6}, {6, 9}, {9, 10}};
  EXPECT_EQ(chunks(1), expected);
  EXPECT_EQ(chunks(3), expected);
}

TEST_F(ParallelTest, ThreadCountIsChecked) {
  EXPECT_THROW(SetNumThreads(0), Error);
  EXPECT_EQ(GetNumThreads(), 3);
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of threads
TEST_F(ParallelTest, ForkedChildrenWorkAlone) {
  parallel_for(0, 3, 1, [](int64_t, int64_t) {});  // the pool exists
  const pid_t child = fork();
  if (child == 0) {
    int calls = 0;
    parallel_for(0, 1000, 1, [&](int64_t, int64_t) { ++calls; });
    _exit(calls == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace proa::inline v0
