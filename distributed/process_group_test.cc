#include "distributed/process_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "distributed/fabric.h"
#include "distributed/job.h"
#include "distributed/store.h"
#include "distributed/work.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::distributed {
namespace {

std::atomic<int> jobs{0};

// Runs `body(job, group)` on a thread for each rank; what each threw.
using Body = std::function<void(Job&, ProcessGroup&)>;
std::vector<std::string> RunRanks(int n, bool processes, bool shared,
                                  Limit limit, const Body& body) {
  const std::string name = "test" + std::to_string(jobs++);
  auto store = std::make_shared<HashStore>();
  std::vector<std::string> errors(n);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        // The fabric of processes works among threads too.
        std::shared_ptr<Fabric> fabric =
            processes ? NewProcessFabric(store, rank, n, Limit(10000))
                      : NewThreadFabric(name, rank, n);
        Job job(fabric);
        std::vector<int> members(n);
        for (int i = 0; i < n; ++i) members[i] = i;
        auto group = job.NewGroup({.id = 0,
                                   .members = members,
                                   .limit = limit,
                                   .shared_memory = shared});
        body(job, *group);
      } catch (const Error& e) {
        errors[rank] = e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return errors;
}

void ExpectNone(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) EXPECT_EQ(e, "");
}

struct Way {
  int ranks;
  bool processes;
  bool shared;
};

class Ways : public testing::TestWithParam<Way> {
 protected:
  void All(const Body& body) {
    const Way& w = GetParam();
    ExpectNone(RunRanks(w.ranks, w.processes, w.shared, Limit(20000), body));
  }
};

float Value(int rank, int64_t i) { return rank * 0.3f + (i % 97) * 0.01f; }

Tensor Filled(int rank, int64_t n) {
  Tensor t = Tensor::Empty({n}, DType::kFloat32);
  for (int64_t i = 0; i < n; ++i) t.data<float>()[i] = Value(rank, i);
  return t;
}

TEST_P(Ways, AllReduce) {
  All([&](Job&, ProcessGroup& g) {
    for (const int64_t n : {0, 1, 3, 5, 1000, 100003, 1000003}) {
      for (const bool in_place : {true, false}) {
        const Tensor x = Filled(g.rank(), n);
        const Tensor y = in_place ? x : Tensor::Empty({n}, DType::kFloat32);
        g.Start({.kind = Collective::kAllReduce, .in = x, .out = y}, true);
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; ++i) {
          float sum = Value(0, i);
          for (int r = 1; r < g.size(); ++r) sum += Value(r, i);
          wrong += y.data<float>()[i] != sum;  // to the last bit
        }
        ASSERT_EQ(wrong, 0) << n;
      }
    }
  });
}

TEST_P(Ways, HalfAddsUpInFloat32) {
  All([&](Job&, ProcessGroup& g) {
    const Tensor x = Tensor::Empty({70000}, DType::kBFloat16);
    for (int64_t i = 0; i < 70000; ++i) {
      x.data<bfloat16>()[i] = bfloat16(Value(g.rank(), i));
    }
    g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 70000; ++i) {
      float sum = 0;
      for (int r = 0; r < g.size(); ++r) sum += bfloat16(Value(r, i));
      wrong += x.data<bfloat16>()[i].bits() != bfloat16(sum).bits();
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(Ways, AsynchronousInOrder) {
  All([&](Job&, ProcessGroup& g) {
    std::vector<Tensor> xs;
    std::vector<std::shared_ptr<Work>> works;
    for (int k = 0; k < 20; ++k) {
      xs.push_back(Filled(g.rank(), 1000 + k));
      works.push_back(g.Start(
          {.kind = Collective::kAllReduce, .in = xs[k], .out = xs[k]}, false));
    }
    for (int k = 0; k < 20; ++k) {
      works[k]->Wait();
      EXPECT_TRUE(works[k]->IsDone());
    }
    EXPECT_EQ(g.recorder().Entries().size(), 20u);
    EXPECT_EQ(g.recorder().Entries()[3].call.sequence, 4u);
  });
}

TEST_P(Ways, UnevenAllToAllAndGather) {
  All([&](Job&, ProcessGroup& g) {
    const int n = g.size(), me = g.rank();
    // Rank a sends a + b rows to rank b.
    std::vector<int64_t> gives, gets;
    int64_t in = 0, out = 0;
    for (int i = 0; i < n; ++i) {
      gives.push_back(me + i);
      gets.push_back(me + i);
      in += me + i;
      out += me + i;
    }
    const Tensor x = Tensor::Empty({in, 3}, DType::kInt64);
    for (int64_t i = 0; i < x.numel(); ++i) x.data<int64_t>()[i] = me;
    const Tensor y = Tensor::Empty({out, 3}, DType::kInt64);
    g.Start({.kind = Collective::kAllToAll,
             .in = x,
             .out = y,
             .in_splits = gives,
             .out_splits = gets},
            true);
    int64_t at = 0;
    for (int i = 0; i < n; ++i) {
      for (int64_t k = 0; k < 3 * gets[i]; ++k) {
        EXPECT_EQ(y.data<int64_t>()[at++], i);
      }
    }
    // Rank a has a + 1 rows.
    std::vector<int64_t> rows;
    int64_t all = 0;
    for (int i = 0; i < n; ++i) {
      rows.push_back(i + 1);
      all += i + 1;
    }
    const Tensor own = Filled(me, me + 1);
    const Tensor whole = Tensor::Empty({all}, DType::kFloat32);
    g.Start({.kind = Collective::kAllGather,
             .in = own,
             .out = whole,
             .out_splits = rows},
            true);
    at = 0;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k <= i; ++k) {
        EXPECT_EQ(whole.data<float>()[at++], Value(i, k));
      }
    }
  });
}

TEST_P(Ways, MessagesBothWays) {
  All([&](Job&, ProcessGroup& g) {
    const int n = g.size(), me = g.rank();
    if (n == 1) return;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    const Tensor x = Filled(me, 500000), y = Filled(9, 500000);
    auto sent =
        g.Start({.kind = Collective::kSend, .peer = to, .in = x}, false);
    auto got =
        g.Start({.kind = Collective::kReceive, .peer = from, .out = y}, false);
    sent->Wait();
    got->Wait();
    EXPECT_EQ(y.data<float>()[499999], Value(from, 499999));
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, Ways,
    testing::Values(Way{2, false, true}, Way{3, false, true},
                    Way{4, false, true}, Way{2, true, true},
                    Way{3, true, false}, Way{2, false, false},
                    Way{1, false, true}),
    [](const auto& info) {
      return std::string(info.param.processes ? "Processes" : "Threads") +
             (info.param.shared ? "Memory" : "Sockets") +
             std::to_string(info.param.ranks);
    });

TEST(ProcessGroupTest, NamesWhoNeverCame) {
  const auto errors =
      RunRanks(3, false, true, Limit(300), [](Job&, ProcessGroup& g) {
        const Tensor x = Filled(g.rank(), 4);
        g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
        if (g.rank() == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
          return;
        }
        g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
      });
  EXPECT_NE(errors[0].find("rank 2 never entered all_reduce #2; 0, 1 did"),
            std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
}

TEST(ProcessGroupTest, NamesDisagreement) {
  const auto errors =
      RunRanks(3, false, true, Limit(20000), [](Job&, ProcessGroup& g) {
        const Tensor x = Filled(0, g.rank() == 1 ? 5 : 4);
        g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
      });
  for (const std::string& e : errors) {
    EXPECT_NE(e.find("ranks disagree in collective #1 of group 0"),
              std::string::npos)
        << e;
    EXPECT_NE(e.find("all_reduce sum of [5] float32"), std::string::npos) << e;
  }
  const auto kinds =
      RunRanks(2, false, true, Limit(20000), [](Job&, ProcessGroup& g) {
        const Tensor x = Filled(0, 4);
        g.Start({.kind = g.rank() == 0 ? Collective::kAllReduce
                                       : Collective::kBroadcast,
                 .in = x,
                 .out = x},
                true);
      });
  EXPECT_NE(kinds[0].find("rank 0 calls all_reduce sum of [4] float32, rank 1 "
                          "calls broadcast of [4] float32, root 0"),
            std::string::npos)
      << kinds[0];
  EXPECT_EQ(kinds[0], kinds[1]);
}

TEST(ProcessGroupTest, NoticesWhoLeft) {
  for (const bool processes : {false, true}) {
    const auto errors =
        RunRanks(3, processes, true, Limit(20000), [](Job&, ProcessGroup& g) {
          if (g.rank() == 0) return;
          const Tensor x = Filled(g.rank(), 4);
          g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
        });
    EXPECT_EQ(errors[0], "");
    EXPECT_NE(errors[1].find("rank 0 has left the job"), std::string::npos)
        << errors[1];
  }
}

TEST(ProcessGroupTest, EndsWithItsError) {
  const auto errors =
      RunRanks(2, false, true, Limit(20000), [](Job&, ProcessGroup& g) {
        const Tensor x = Filled(0, 4 + g.rank());
        EXPECT_THROW(
            g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true),
            Error);
        g.Start({.kind = Collective::kBarrier}, true);
      });
  EXPECT_NE(errors[0].find("ended with an earlier error"), std::string::npos);
}

TEST(ProcessGroupTest, RefusesWhatDoesNotFit) {
  ExpectNone(RunRanks(2, false, true, Limit(20000), [](Job&, ProcessGroup& g) {
    const Tensor x = Filled(0, 4), y = Filled(0, 5);
    EXPECT_THROW(
        g.Start({.kind = Collective::kAllGather, .in = x, .out = y}, true),
        Error);
    EXPECT_THROW(
        g.Start({.kind = Collective::kBroadcast, .peer = 2, .in = x, .out = x},
                true),
        Error);
    const Tensor z = Tensor::Empty({2}, DType::kInt64);
    EXPECT_THROW(g.Start({.kind = Collective::kAllReduce,
                          .reduce = ReduceOp::kAvg,
                          .in = z,
                          .out = z},
                         true),
                 TypeError);
    g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
  }));
}

}  // namespace
}  // namespace proa::distributed
