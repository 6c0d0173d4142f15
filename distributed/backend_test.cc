#include "distributed/backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "distributed/fabric.h"
#include "distributed/fold.h"
#include "distributed/job.h"
#include "distributed/process_group.h"
#include "distributed/store.h"
#include "distributed/work.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::distributed {
namespace {

std::atomic<int> jobs{0};

using Body = std::function<void(Job&, ProcessGroup&)>;
using NameOf = std::function<std::string(int rank)>;

// Runs `body` on a thread for each rank; what each threw.
std::vector<std::string> RunRanks(int n, const NameOf& backend, Limit limit,
                                  const Body& body) {
  const std::string name = "backends" + std::to_string(jobs++);
  std::vector<std::string> errors(n);
  std::vector<std::shared_ptr<Fabric>> fabrics;
  for (int rank = 0; rank < n; ++rank) {
    fabrics.push_back(NewThreadFabric(name, rank, n));
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Job job(fabrics[rank]);
        std::vector<int> members(n);
        for (int i = 0; i < n; ++i) members[i] = i;
        auto group = job.NewGroup({.id = 0,
                                   .members = members,
                                   .limit = limit,
                                   .backend = backend(rank)});
        body(job, *group);
      } catch (const std::exception& e) {
        errors[rank] = e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return errors;
}

struct Way {
  std::string backend;
  int ranks;
};

// What every backend that is linked in must do.
class EveryBackend : public testing::TestWithParam<Way> {
 protected:
  void All(const Body& body) {
    const Way& w = GetParam();
    for (const std::string& e : RunRanks(
             w.ranks, [&](int) { return w.backend; }, Limit(20000), body)) {
      EXPECT_EQ(e, "");
    }
  }
};

// Small numbers, whose sums and products are exact in each dtype.
Tensor Filled(DType dtype, int64_t n, int rank) {
  Tensor t = Tensor::Empty({n}, dtype);
  VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) {
      t.data<T>()[i] = static_cast<T>(static_cast<float>((i + rank) % 3));
    }
  });
  return t;
}

template <typename T>
int64_t Differences(const Tensor& t, const std::function<float(int64_t)>& f) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < t.numel(); ++i) {
    wrong += !(t.data<T>()[i] == static_cast<T>(f(i)));
  }
  return wrong;
}

constexpr DType kDTypes[] = {
    DType::kBool,    DType::kUInt8,   DType::kInt8,      DType::kInt16,
    DType::kInt32,   DType::kInt64,   DType::kFloat16,   DType::kBFloat16,
    DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128};

TEST_P(EveryBackend, CombinesEveryDType) {
  All([&](Job&, ProcessGroup& g) {
    const int n = g.size(), me = g.rank();
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin,
                                ReduceOp::kMax, ReduceOp::kAvg}) {
        try {
          RequireFoldable("test", op, dtype);
        } catch (const TypeError&) {
          continue;
        }
        const auto expected = [&](int64_t i) {
          float v = static_cast<float>(i % 3);
          for (int r = 1; r < n; ++r) {
            const auto x = static_cast<float>((i + r) % 3);
            v = op == ReduceOp::kProd  ? v * x
                : op == ReduceOp::kMin ? std::min(v, x)
                : op == ReduceOp::kMax ? std::max(v, x)
                                       : v + x;
          }
          return op == ReduceOp::kAvg ? v / static_cast<float>(n) : v;
        };
        if (op == ReduceOp::kAvg && ItemSize(dtype) >= 8 && n % 2 == 1)
          continue;
        for (const int64_t size : {0, 1, 5, 20011}) {
          for (const bool in_place : {true, false}) {
            const Tensor x = Filled(dtype, size, me);
            const Tensor y = in_place ? x : Tensor::Empty({size}, dtype);
            g.Start({.kind = Collective::kAllReduce,
                     .reduce = op,
                     .in = x,
                     .out = y},
                    true);
            const Tensor z = Filled(dtype, size, me);
            const int root = n - 1;
            g.Start({.kind = Collective::kReduce,
                     .reduce = op,
                     .peer = root,
                     .in = z,
                     .out = me == root ? z : Tensor()},
                    true);
            const Tensor w = Filled(dtype, size * n, me);
            const Tensor part = Tensor::Empty({size}, dtype);
            g.Start({.kind = Collective::kReduceScatter,
                     .reduce = op,
                     .in = w,
                     .out = part},
                    true);
            VisitDType(dtype, [&](auto tag) {
              using T = typename decltype(tag)::type;
              EXPECT_EQ(Differences<T>(y, expected), 0)
                  << Name(dtype) << " " << Name(op) << " " << size;
              if (me == root) {
                EXPECT_EQ(Differences<T>(z, expected), 0)
                    << Name(dtype) << " " << Name(op) << " " << size;
              }
              EXPECT_EQ(
                  Differences<T>(
                      part, [&](int64_t i) { return expected(me * size + i); }),
                  0)
                  << Name(dtype) << " " << Name(op) << " " << size;
            });
          }
        }
      }
    }
  });
}

TEST_P(EveryBackend, MovesEveryDType) {
  All([&](Job&, ProcessGroup& g) {
    const int n = g.size(), me = g.rank();
    for (const DType dtype : kDTypes) {
      for (const int64_t size : {0, 1, 7, 10007}) {
        // Elements of `t` from `begin` are those of `rank` from `at`.
        const auto is = [&](const Tensor& t, int64_t begin, int rank,
                            int64_t at = 0) {
          VisitDType(dtype, [&](auto tag) {
            using T = typename decltype(tag)::type;
            int64_t wrong = 0;
            for (int64_t i = 0; i < size; ++i) {
              const auto v = static_cast<float>((i + at + rank) % 3);
              wrong += !(t.data<T>()[begin + i] == static_cast<T>(v));
            }
            EXPECT_EQ(wrong, 0) << Name(dtype) << " " << size << " of " << rank;
          });
        };
        const int root = n / 2;
        const Tensor b = Filled(dtype, size, me);
        g.Start(
            {.kind = Collective::kBroadcast, .peer = root, .in = b, .out = b},
            true);
        is(b, 0, root);
        const Tensor own = Filled(dtype, size, me);
        const Tensor all = Tensor::Empty({n, size}, dtype);
        g.Start({.kind = Collective::kAllGather, .in = own, .out = all}, true);
        for (int i = 0; i < n; ++i) is(all, i * size, i);
        const Tensor gathered = Tensor::Empty({n, size}, dtype);
        g.Start({.kind = Collective::kGather,
                 .peer = root,
                 .in = own,
                 .out = me == root ? gathered : Tensor()},
                true);
        for (int i = 0; me == root && i < n; ++i) is(gathered, i * size, i);
        const Tensor mine = Tensor::Empty({size}, dtype);
        g.Start({.kind = Collective::kScatter,
                 .peer = root,
                 .in = me == root ? Filled(dtype, size * n, 1) : Tensor(),
                 .out = mine},
                true);
        is(mine, 0, 1, me * size);
        const Tensor from = Tensor::Empty({n, size}, dtype);
        g.Start({.kind = Collective::kAllToAll,
                 .in = Filled(dtype, size * n, me),
                 .out = from},
                true);
        for (int i = 0; i < n; ++i) is(from, i * size, i, me * size);
      }
    }
  });
}

TEST_P(EveryBackend, UnevenParts) {
  All([&](Job&, ProcessGroup& g) {
    const int n = g.size(), me = g.rank();
    std::vector<int64_t> gives, gets, rows;
    int64_t total = 0, all = 0;
    for (int i = 0; i < n; ++i) {
      gives.push_back(me * i);  // none from or to rank 0
      rows.push_back(i);
      total += me * i;
      all += i;
    }
    gets = gives;
    const Tensor x = Tensor::Empty({total, 3}, DType::kInt64);
    for (int64_t i = 0; i < x.numel(); ++i) x.data<int64_t>()[i] = me;
    const Tensor y = Tensor::Empty({total, 3}, DType::kInt64);
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
    const Tensor own = Tensor::Empty({me}, DType::kInt64);
    for (int64_t i = 0; i < me; ++i) own.data<int64_t>()[i] = me;
    const Tensor whole = Tensor::Empty({all}, DType::kInt64);
    g.Start({.kind = Collective::kAllGather,
             .in = own,
             .out = whole,
             .out_splits = rows},
            true);
    at = 0;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) EXPECT_EQ(whole.data<int64_t>()[at++], i);
    }
  });
}

TEST_P(EveryBackend, AsynchronousAndSubgroups) {
  All([&](Job& job, ProcessGroup& g) {
    std::vector<Tensor> xs;
    std::vector<std::shared_ptr<Work>> works;
    for (int k = 0; k < 8; ++k) {
      xs.push_back(Filled(DType::kFloat32, 5000 + k, g.rank()));
      works.push_back(g.Start(
          {.kind = Collective::kAllReduce, .in = xs[k], .out = xs[k]}, false));
    }
    for (const auto& w : works) w->Wait();
    g.Start({.kind = Collective::kBarrier}, true);
    if (g.size() > 1 && g.rank() < 2) {
      auto pair = job.NewGroup({.id = 1,
                                .members = {0, 1},
                                .limit = Limit(20000),
                                .backend = g.backend()});
      const Tensor x = Filled(DType::kBFloat16, 9, 2);
      pair->Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
      EXPECT_EQ(
          Differences<bfloat16>(
              x,
              [](int64_t i) { return 2.f * static_cast<float>((i + 2) % 3); }),
          0);
    }
    g.Start({.kind = Collective::kBarrier}, true);
  });
}

std::vector<Way> EveryWay() {
  std::vector<Way> ways;
  for (const std::string& name : BackendNames()) {
    for (const int ranks : {1, 2, 3, 5}) ways.push_back({name, ranks});
  }
  return ways;
}

INSTANTIATE_TEST_SUITE_P(All, EveryBackend, testing::ValuesIn(EveryWay()),
                         [](const auto& info) {
                           return info.param.backend +
                                  std::to_string(info.param.ranks);
                         });

TEST(BackendTest, AreRegistered) {
  EXPECT_EQ(BackendNames(), (std::vector<std::string>{"gloo", "proa"}));
  EXPECT_THROW(RegisterBackend("gloo", FindBackend("proa")), Error);
  EXPECT_THROW(RegisterBackend("", FindBackend("proa")), Error);
  try {
    FindBackend("nccl");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "there is no backend 'nccl' here: this build has no CUDA"),
              std::string::npos);
    EXPECT_NE(std::string(e.what()).find("; there are: gloo, proa"),
              std::string::npos);
  }
}

TEST(BackendTest, RanksMustAgree) {
  const auto errors = RunRanks(
      3, [](int rank) { return rank == 2 ? "proa" : "gloo"; }, Limit(20000),
      [](Job&, ProcessGroup&) {});
  for (const std::string& e : errors) {
    EXPECT_NE(e.find("rank 0 has 'gloo', rank 2 has 'proa'"), std::string::npos)
        << e;
  }
}

TEST(BackendTest, GlooLeavesErrorsToTheGroup) {
  const auto gloo = [](int) { return "gloo"; };
  const auto sizes = RunRanks(3, gloo, Limit(20000), [](Job&, ProcessGroup& g) {
    const Tensor x = Filled(DType::kFloat32, g.rank() == 1 ? 5 : 4, 0);
    g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
  });
  for (const std::string& e : sizes) {
    EXPECT_NE(e.find("ranks disagree in collective #1"), std::string::npos)
        << e;
  }
  const auto left = RunRanks(3, gloo, Limit(20000), [](Job&, ProcessGroup& g) {
    if (g.rank() == 0) return;
    const Tensor x = Filled(DType::kFloat32, 4, 0);
    g.Start({.kind = Collective::kAllReduce, .in = x, .out = x}, true);
  });
  EXPECT_EQ(left[0], "");
  EXPECT_NE(left[1].find("rank 0 has left the job"), std::string::npos)
      << left[1];
  const auto late = RunRanks(2, gloo, Limit(300), [](Job&, ProcessGroup& g) {
    if (g.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      return;
    }
    g.Start({.kind = Collective::kBarrier}, true);
  });
  EXPECT_NE(late[0].find("rank 1 never entered barrier #1; 0 did"),
            std::string::npos)
      << late[0];
}

}  // namespace
}  // namespace proa::distributed
