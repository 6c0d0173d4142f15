#include "ops/onednn/primitive_cache.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"

namespace proa::inline v0::onednn {
namespace {

PrimitiveKey Key(int64_t n) {
  PrimitiveKey key(PrimitiveKind::kMatMul);
  key.Add(n);
  return key;
}

// [n, n] times [n, n]; `any` lets oneDNN choose the layout of the weights.
Primitive Square(int64_t n, bool any = false) {
  const int64_t dims[] = {n, n};
  const auto plain = Descriptor(dims, DType::kFloat32);
  const auto weights = any ? AnyFormat(dims, DType::kFloat32) : plain;
  dnnl::matmul::primitive_desc pd({plain, weights, plain}, UserScratchpad(),
                                  Engine());
  return Primitive::Of<dnnl::matmul>(pd, {{DNNL_ARG_SRC, plain},
                                          {DNNL_ARG_WEIGHTS, plain},
                                          {DNNL_ARG_DST, plain, true}});
}

float RunSquare(const Primitive& p, int64_t n) {
  std::vector<float> x(n * n, 2.f), y(n * n, 3.f), z(n * n, 0.f);
  p.Execute({{DNNL_ARG_SRC, x.data()},
             {DNNL_ARG_WEIGHTS, y.data()},
             {DNNL_ARG_DST, z.data()}});
  EXPECT_TRUE(
      std::all_of(z.begin(), z.end(), [&](float v) { return v == z.front(); }));
  return z.front();
}

TEST(PrimitiveKeyTest, EqualWordsEqualKeys) {
  EXPECT_EQ(Key(3), Key(3));
  EXPECT_EQ(Key(3).Hash(), Key(3).Hash());
  EXPECT_FALSE(Key(3) == Key(4));
  PrimitiveKey split(PrimitiveKind::kMatMul), other(PrimitiveKind::kMatMul);
  const int64_t one[] = {1}, two[] = {1, 1};
  split.Add(std::span<const int64_t>(one));
  split.Add(std::span<const int64_t>(two));
  other.Add(std::span<const int64_t>(two));
  other.Add(std::span<const int64_t>(one));
  EXPECT_FALSE(split == other);
}

TEST(PrimitiveKeyTest, TooLongDoesNotFit) {
  PrimitiveKey key(PrimitiveKind::kMatMul);
  for (int i = 0; i < 2 * PrimitiveKey::kCapacity; ++i) key.Add(int64_t{i});
  EXPECT_FALSE(key.fits());
  PrimitiveCache cache(4);
  for (int i = 0; i < 3; ++i) cache.FindOrMake(key, [] { return Square(4); });
  EXPECT_EQ(cache.stats().size, 0);
}

TEST(PrimitiveCacheTest, CompilesOnce) {
  PrimitiveCache cache(4);
  int made = 0;
  for (int i = 0; i < 3; ++i) {
    const auto p = cache.FindOrMake(Key(4), [&] {
      ++made;
      return Square(4);
    });
    EXPECT_EQ(RunSquare(*p, 4), 24.f);
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.stats().hits, 2);
  EXPECT_EQ(cache.stats().misses, 1);
}

TEST(PrimitiveCacheTest, KeepsTheMostRecentlyUsed) {
  PrimitiveCache cache(2);
  const auto get = [&](int64_t n) {
    return cache.FindOrMake(Key(n), [&] { return Square(n); });
  };
  const auto first = get(1);
  get(2);
  get(1);
  get(3);  // drops 2
  EXPECT_EQ(cache.stats().size, 2);
  EXPECT_EQ(get(1), first);
  const int64_t misses = cache.stats().misses;
  get(2);
  EXPECT_EQ(cache.stats().misses, misses + 1);
}

TEST(PrimitiveCacheTest, StaysBoundedOverManyShapes) {
  PrimitiveCache cache(8);
  for (int64_t n = 1; n <= 100; ++n) {
    const auto p = cache.FindOrMake(Key(n), [&] { return Square(n); });
    EXPECT_EQ(RunSquare(*p, n), 6.f * n);
    EXPECT_LE(cache.stats().size, 8);
  }
  cache.SetCapacity(3);
  EXPECT_EQ(cache.stats().size, 3);
  cache.SetCapacity(0);
  EXPECT_EQ(cache.stats().size, 0);
  // A primitive outlives its place in the cache.
  const auto p = cache.FindOrMake(Key(5), [] { return Square(5); });
  EXPECT_EQ(cache.stats().size, 0);
  EXPECT_EQ(RunSquare(*p, 5), 30.f);
}

TEST(PrimitiveCacheTest, RemembersWhatIsUnsupported) {
  PrimitiveCache cache(2);
  int tried = 0;
  for (int i = 0; i < 2; ++i) {
    const auto p = cache.FindOrMake(Key(7), [&]() -> Primitive {
      ++tried;
      throw dnnl::error(dnnl_unimplemented, "no");
    });
    EXPECT_FALSE(p->supported());
  }
  EXPECT_EQ(tried, 1);
}

TEST(PrimitiveTest, ReordersToTheLayoutThatOneDnnWants) {
  for (int64_t n : {3, 17, 64, 100})
    EXPECT_EQ(RunSquare(Square(n, /*any=*/true), n), 6.f * n) << n;
}

TEST(PrimitiveCacheTest, ServesManyThreads) {
  PrimitiveCache cache(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const int64_t n = 1 + (i + t) % 6;
        const auto p = cache.FindOrMake(Key(n), [&] { return Square(n); });
        EXPECT_EQ(RunSquare(*p, n), 6.f * n);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(cache.stats().size, 3);
}

}  // namespace
}  // namespace proa::inline v0::onednn
