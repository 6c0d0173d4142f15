// Products with weights that predict, which Gemm keeps in orders of its own.
#include <stdio.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/gemm_then.h"
#include "ops/onednn/pack_at_once.h"
#include "ops/onednn/packed_weights.h"
#include "tensor/dtype.h"
#include "tensor/file_memory.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {
namespace {

template <typename T>
void Fill(Tensor& t, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> one(-1, 1);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<T>()[i] = T(one(rng));
}

// The elements of `t` in a file, as a predictor finds them.
Tensor InFile(const Tensor& t) {
  std::FILE* const file = std::tmpfile();
  const auto bytes = static_cast<size_t>(t.bytes());
  EXPECT_EQ(std::fwrite(t.raw_data(), 1, bytes, file), bytes);
  EXPECT_EQ(std::fflush(file), 0);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                          ::fileno(file), 0);
  EXPECT_NE(at, MAP_FAILED);
  std::fclose(file);
  const std::shared_ptr<void> mapping(at,
                                      [bytes](void* p) { ::munmap(p, bytes); });
  return Tensor::FromStorage(FileStorage(at, t.bytes(), mapping), t.dtype(),
                             t.shape(), t.strides());
}

template <typename T>
struct Product {
  Tensor a, b, bias, c;
  int64_t m, n, k;
  bool by_columns;  // b is [n, k], and its transpose is taken

  Product(int64_t m, int64_t n, int64_t k, bool by_columns)
      : m(m), n(n), k(k), by_columns(by_columns) {
    constexpr DType dtype = kDTypeOf<T>;
    a = Tensor::Empty({m, k}, dtype);
    b = Tensor::Empty(by_columns ? Shape({n, k}) : Shape({k, n}), dtype);
    bias = Tensor::Empty({n}, dtype);
    c = Tensor::Empty({m, n}, dtype);
    Fill<T>(a, 1);
    Fill<T>(b, 2);
    Fill<T>(bias, 3);
  }

  GemmProblem Problem() {
    GemmProblem p;
    p.dtype = a.dtype();
    p.m = m;
    p.n = n;
    p.k = k;
    p.a.data = a.raw_data();
    p.a.row_stride = k;
    p.a.column_stride = 1;
    p.b.data = b.raw_data();
    p.b.row_stride = by_columns ? 1 : n;
    p.b.column_stride = by_columns ? k : 1;
    p.bias = bias.raw_data();
    p.c = c.raw_data();
    p.weight = &b;
    return p;
  }

  // Against sums in double of some elements of C, those at the ends of pieces
  // among them.
  void ExpectRight() {
    const double unit = sizeof(T) == 2 ? 1. / 256 : 1. / (1 << 24);
    const int64_t step = std::max<int64_t>(1, n / 61);
    for (int64_t i = 0; i < m; i = i + 1 < m ? std::min(i + 37, m - 1) : m) {
      for (int64_t j = 0; j < n;
           j = j + 1 < n ? std::min(j + step, n - 1) : n) {
        double sum = static_cast<double>(static_cast<float>(bias.data<T>()[j]));
        for (int64_t q = 0; q < k; ++q) {
          const float x = static_cast<float>(a.data<T>()[i * k + q]);
          const float y = static_cast<float>(
              b.data<T>()[by_columns ? j * k + q : q * n + j]);
          sum += static_cast<double>(x) * y;
        }
        const float found = static_cast<float>(c.data<T>()[i * n + j]);
        ASSERT_NEAR(found, sum, unit * (std::abs(sum) + 1) + k * 0x1p-24)
            << m << " " << n << " " << k << " " << by_columns << ": " << i
            << " " << j;
      }
    }
  }
};

template <typename T>
void ExpectKeptIsRight(int64_t m, int64_t n, int64_t k, bool by_columns) {
  const int threads = GetNumThreads();
  Product<T> product(m, n, k, by_columns);
  product.b = InFile(product.b);
  std::vector<char> first;
  for (const int t : {1, 2, 3, 5}) {
    SetNumThreads(t);
    std::memset(product.c.raw_data(), 0xff, product.c.bytes());
    GemmProblem p = product.Problem();
    Gemm(p);
    const auto* c = static_cast<const char*>(product.c.raw_data());
    if (first.empty()) {
      product.ExpectRight();
      first.assign(c, c + product.c.bytes());
    } else {
      EXPECT_EQ(std::memcmp(first.data(), c, first.size()), 0)
          << m << " " << n << " " << k << " on " << t << " threads";
    }
  }
  SetNumThreads(threads);
}

TEST(GemmKeptTest, FloatsAreRightOnAnyNumberOfThreads) {
  for (const int64_t m : {1, 2, 5, 64, 129, 300})
    for (const int64_t n : {256, 257, 600, 1537})
      for (const int64_t k : {1, 300, 700})
        for (const bool by_columns : {false, true})
          ExpectKeptIsRight<float>(m, n, k, by_columns);
}

TEST(GemmKeptTest, LargeWeightsArePackedSomeRowsAtATime) {
  for (const bool by_columns : {false, true})
    ExpectKeptIsRight<float>(5, 1030, 5000, by_columns);
}

TEST(GemmKeptTest, BFloat16IsRightOnAnyNumberOfThreads) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "no instructions for bfloat16";
  for (const int64_t m : {4, 64, 129, 300})
    for (const int64_t n : {64, 257, 600})
      for (const int64_t k : {64, 700, 1023, 3072})
        for (const bool by_columns : {false, true})
          ExpectKeptIsRight<bfloat16>(m, n, k, by_columns);
}

TEST(GemmKeptTest, SmallOnesAndOtherWeightsAreNotKept) {
  const int64_t before = onednn::CountKeptWeights();
  Product<float> small(64, 256, 128, false), narrow(64, 128, 512, false);
  Product<float> trained(64, 512, 512, false), in_memory(64, 512, 512, false);
  small.b = InFile(small.b);
  narrow.b = InFile(narrow.b);
  onednn::PackAtOnce(in_memory.b);
  for (Product<float>* product : {&small, &narrow, &trained, &in_memory}) {
    GemmProblem p = product->Problem();
    Gemm(p);
    product->ExpectRight();
  }
  EXPECT_EQ(onednn::CountKeptWeights(), before);
  Product<float> kept(64, 512, 512, false);
  kept.b = InFile(kept.b);
  GemmProblem p = kept.Problem();
  Gemm(p);
  EXPECT_EQ(onednn::CountKeptWeights(), before + 1);
}

TEST(GemmKeptTest, AChangedWeightIsKeptAnew) {
  Product<float> product(64, 512, 512, false);
  product.b = InFile(product.b);
  GemmProblem p = product.Problem();
  Gemm(p);
  Fill<float>(product.b, 7);
  product.b.storage()->BumpVersion();
  p = product.Problem();
  Gemm(p);
  product.ExpectRight();
}

TEST(GemmKeptTest, PartsCoverEachElementOnce) {
  for (const int64_t m : {4, 128, 300}) {
    Product<float> product(m, 700, 300, false);
    product.b = InFile(product.b);
    std::vector<int> times(m * 700);
    GemmProblem p = product.Problem();
    GemmThen(p, [&](const GemmPart& at) {
      for (int64_t i = at.row; i < at.row + at.rows; ++i)
        for (int64_t j = at.column; j < at.column + at.columns; ++j)
          ++times[i * 700 + j];
    });
    product.ExpectRight();
    EXPECT_EQ(times, std::vector<int>(m * 700, 1));
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
