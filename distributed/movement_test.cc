#include "distributed/movement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "distributed/fabric.h"
#include "distributed/thread_ranks.h"
#include "tensor/dtype.h"

namespace proa::distributed {
namespace {

struct Way {
  int ranks;
  bool shared;
};

class MovementTest : public testing::TestWithParam<Way> {
 protected:
  void All(const std::function<void(Links&)>& body) {
    ExpectNone(RunLinked(GetParam().ranks, GetParam().shared,
                         [&](Fabric&, Links& links) {
                           body(links);
                           Drain(links, [] {});
                         }));
  }
};

TEST_P(MovementTest, HeadersReachEveryone) {
  All([](Links& links) {
    const int n = links.size(), me = links.me();
    CallHeader own;
    own.sequence = 100 + me;
    std::vector<int64_t> bytes(n);
    for (int i = 0; i < n; ++i) bytes[i] = 10 * me + i;
    std::vector<CallHeader> headers(n);
    std::vector<bool> came(n);
    ExchangeHeaders(links, own, bytes, &headers, &came, [] {});
    for (int i = 0; i < n; ++i) {
      EXPECT_TRUE(came[i]);
      EXPECT_EQ(headers[i].sequence, 100u + i);
      if (i != me) {
        EXPECT_EQ(headers[i].bytes, 10 * i + me);
      }
    }
  });
}

// Rank a gives rank b (a * b * 100003) bytes: nothing at all from and to 0, and
// more than a ring between others.
TEST_P(MovementTest, UnevenAndEmptyParts) {
  All([](Links& links) {
    const int n = links.size(), me = links.me();
    std::vector<std::string> give(n), get(n);
    std::vector<Bytes> to(n);
    std::vector<MutableBytes> from(n);
    for (int i = 0; i < n; ++i) {
      const size_t size = size_t{100003} * i * me * 3;
      give[i].assign(size, static_cast<char>('a' + me));
      get[i].assign(size, '?');
      to[i] = {give[i].data(), size};
      from[i] = {get[i].data(), size};
    }
    ExchangeBytes(links, to, from, [] {});
    for (int i = 0; i < n; ++i) {
      EXPECT_TRUE(get[i] ==
                  std::string(get[i].size(), static_cast<char>('a' + i)))
          << me << " from " << i;
    }
  });
}

// Segments of sizes 0, 1 and more than several chunks, in place and to all.
TEST_P(MovementTest, ReducesUnevenSegments) {
  All([](Links& links) {
    const int n = links.size(), me = links.me();
    Reduction r{.dtype = DType::kInt32, .to = Reduction::To::kAll};
    size_t all = 0;
    for (int i = 0; i < n; ++i) {
      const size_t size = i == 0 ? 0 : i == 1 ? 1 : 200000;
      r.segments.push_back({all, size});
      all += size;
    }
    std::vector<int32_t> x(all);
    for (size_t i = 0; i < all; ++i) x[i] = static_cast<int32_t>(i) + me;
    char* data = reinterpret_cast<char*>(x.data());
    Reduce(links, r, data, data + 4 * r.segments[me].begin, data, [] {});
    size_t wrong = 0;
    for (size_t i = 0; i < all; ++i) {
      wrong += x[i] != static_cast<int32_t>(i) * n + n * (n - 1) / 2;
    }
    EXPECT_EQ(wrong, 0u);
  });
}

TEST_P(MovementTest, ReducesBoolAndBfloat16) {
  All([](Links& links) {
    const int n = links.size(), me = links.me();
    for (const DType dtype : {DType::kBool, DType::kBFloat16}) {
      const size_t item = ItemSize(dtype), each = 3;
      Reduction r{.dtype = dtype, .to = Reduction::To::kAll};
      for (int i = 0; i < n; ++i) r.segments.push_back({each * i, each});
      std::vector<char> x(item * each * n, 0);
      // Only the own segment is not zero.
      for (size_t i = each * me; i < each * (me + 1); ++i) {
        if (dtype == DType::kBool) {
          x[i] = 1;
        } else {
          reinterpret_cast<bfloat16*>(x.data())[i] = bfloat16(me + 1.5f);
        }
      }
      Reduce(links, r, x.data(), x.data() + item * each * me, x.data(), [] {});
      for (size_t i = 0; i < each * n; ++i) {
        if (dtype == DType::kBool) {
          EXPECT_EQ(x[i], 1);
        } else {
          EXPECT_EQ(float(reinterpret_cast<bfloat16*>(x.data())[i]),
                    i / each + 1.5f);
        }
      }
    }
  });
}

// What only one rank is to have does not reach the others.
TEST_P(MovementTest, ReducesToARoot) {
  All([](Links& links) {
    const int n = links.size(), me = links.me(), root = n - 1;
    Reduction r{.reduce = ReduceOp::kMax,
                .dtype = DType::kFloat64,
                .to = Reduction::To::kRoot,
                .root = root};
    for (int i = 0; i < n; ++i) r.segments.push_back({size_t(2 * i), 2});
    const std::vector<double> x(2 * n, me);
    std::vector<double> own(2, -1), result(2 * n, -1);
    char* at = me == root ? reinterpret_cast<char*>(&result[2 * me])
                          : reinterpret_cast<char*>(own.data());
    Reduce(links, r, reinterpret_cast<const char*>(x.data()), at,
           reinterpret_cast<char*>(result.data()), [] {});
    EXPECT_EQ(result, std::vector<double>(2 * n, me == root ? n - 1 : -1));
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, MovementTest,
                         testing::Values(Way{2, true}, Way{3, true},
                                         Way{4, true}, Way{2, false},
                                         Way{3, false}),
                         [](const auto& info) {
                           return std::string(info.param.shared ? "Memory"
                                                                : "Sockets") +
                                  std::to_string(info.param.ranks);
                         });

// Who waits for one that does not come asks the watch, which may throw.
TEST(MovementWatchTest, MayGiveUp) {
  std::atomic<bool> over{false};
  const auto errors = RunLinked(2, true, [&](Fabric& fabric, Links& links) {
    if (fabric.rank() == 1) {
      while (!over) links.Wait(links.Ticket());
      return;
    }
    std::vector<CallHeader> headers(2);
    std::vector<bool> came(2);
    const std::vector<int64_t> bytes(2);
    int turns = 0;
    try {
      ExchangeHeaders(links, CallHeader(), bytes, &headers, &came, [&] {
        if (++turns == 3) throw std::runtime_error("rank 1 does not come");
      });
    } catch (...) {
      over = true;
      EXPECT_TRUE(came[0]);
      EXPECT_FALSE(came[1]);
      throw;
    }
  });
  EXPECT_EQ(errors[0], "rank 1 does not come");
  EXPECT_EQ(errors[1], "");
}

}  // namespace
}  // namespace proa::distributed
