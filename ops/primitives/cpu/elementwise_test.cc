// What the conformance suite cannot see of the elementwise driver: every
// combination of layouts against a loop over indices, overlapping operands, and
// the same bits from every instruction set.

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/primitives/cpu/testing_kernels.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

std::mt19937 random_bits(1);
int64_t Below(int64_t n) { return static_cast<int64_t>(random_bits() % n); }

Tensor RandomFloats(int64_t n) {
  Tensor t = Tensor::Empty({n}, DType::kFloat32);
  for (int64_t i = 0; i < n; ++i) {
    t.data<float>()[i] = static_cast<float>(Below(2001) - 1000) / 64;
  }
  return t;
}

// A view of random memory that broadcasts to `shape`: dims in random order in
// memory, steps of one or two elements, some backwards, some of size 1.
Tensor RandomView(const Shape& shape, bool broadcast) {
  Shape dims = shape;
  Strides strides(dims.rank());
  std::vector<int> order(dims.rank());
  for (int d = 0; d < dims.rank(); ++d) {
    order[d] = d;
    if (broadcast && Below(4) == 0) dims[d] = 1;
  }
  if (Below(2) == 0) std::shuffle(order.begin(), order.end(), random_bits);
  int64_t step = 1 + Below(2), first = 0;
  for (int k = dims.rank() - 1; k >= 0; --k) {
    const int d = order[k];
    strides[d] = step;
    if (Below(5) == 0) {
      strides[d] = -step;
      first += (dims[d] - 1) * step;
    }
    step *= dims[d];
  }
  return RandomFloats(step + 2).AsStrided(dims, strides, first);
}

float At(const Tensor& t, const std::vector<int64_t>& index) {
  const int lead = static_cast<int>(index.size()) - t.rank();
  int64_t offset = 0;
  for (int d = 0; d < t.rank(); ++d) {
    if (t.size(d) != 1) offset += index[lead + d] * t.strides()[d];
  }
  return t.data<float>()[offset];
}

void ExpectSum(const Tensor& x, const Tensor& y, const Tensor& out) {
  std::vector<int64_t> index(out.rank(), 0);
  for (int64_t i = 0; i < out.numel(); ++i) {
    ASSERT_EQ(At(out, index), At(x, index) + At(y, index)) << "element " << i;
    for (int d = out.rank() - 1; d >= 0 && ++index[d] == out.size(d); --d) {
      index[d] = 0;
    }
  }
}

TEST(Elementwise, TakesOperandsOfAnyLayout) {
  for (int round = 0; round < 400; ++round) {
    Shape shape;
    const int64_t largest = round % 10 == 0 ? 300 : 7;
    for (int d = 0, rank = static_cast<int>(Below(5)); d < rank; ++d) {
      shape.push_back(1 + Below(d == rank - 1 ? largest : 7));
    }
    const Tensor x = RandomView(shape, true), y = RandomView(shape, true);
    for (const TestingKernels& k : AllTestingKernels()) {
      Tensor out = round % 2 == 0 ? Tensor::Empty(shape, DType::kFloat32)
                                  : RandomView(shape, false);
      SCOPED_TRACE(k.isa + ToString(shape));
      k.add(x, y, &out);
      ASSERT_NO_FATAL_FAILURE(ExpectSum(x, y, out));
    }
  }
}

// `shape` laid out in memory in the order of `order`, the innermost dim last.
Tensor LaidOut(const Shape& shape, std::vector<int> order) {
  Strides strides(shape.rank());
  int64_t step = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    strides[*d] = step;
    step *= shape[*d];
  }
  return RandomFloats(step + 1).AsStrided(shape, strides, 1);
}

TEST(Elementwise, TurnsOperandsInTiles) {
  for (const int threads : {1, 3}) {
    SetNumThreads(threads);
    for (const Shape& shape : {Shape{70, 2100}, Shape{2100, 70}, Shape{9, 5000},
                               Shape{8, 64, 1024}}) {
      std::vector<int> order(shape.rank());
      for (int d = 0; d < shape.rank(); ++d) order[d] = d;
      do {
        const Tensor x = LaidOut(shape, order),
                     y = LaidOut(shape, {order.rbegin(), order.rend()});
        for (const TestingKernels& k : AllTestingKernels()) {
          SCOPED_TRACE(k.isa + ToString(shape));
          Tensor out = Tensor::Empty(shape, DType::kFloat32);
          k.add(x, y, &out);
          ASSERT_NO_FATAL_FAILURE(ExpectSum(x, y, out));
          Tensor half = Tensor::Empty(shape, DType::kFloat16);
          k.add(x, x, &half);
          for (int64_t i = 0; i < shape[shape.rank() - 1]; ++i) {
            const int64_t at = i * x.strides()[shape.rank() - 1];
            ASSERT_EQ(half.data<float16>()[i], float16(2 * x.data<float>()[at]))
                << i;
          }
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
  SetNumThreads(AvailableCpus());
}

TEST(Elementwise, LargeCallsAreRightInThreadsAndPastTheCaches) {
  const int64_t n = (int64_t{5} << 20) + 3;
  const Tensor x = RandomFloats(n), y = RandomFloats(n);
  SetNumThreads(2);
  for (const TestingKernels& k : AllTestingKernels()) {
    Tensor out = Tensor::Empty({n}, DType::kFloat32);
    k.add(x, y, &out);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(out.data<float>()[i], x.data<float>()[i] + y.data<float>()[i]);
    }
  }
}

TEST(Elementwise, InputsThatOverlapTheOutputAreReadFirst) {
  for (const TestingKernels& k : AllTestingKernels()) {
    const Tensor memory = RandomFloats(200);
    const std::vector<float> before(memory.data<float>(),
                                    memory.data<float>() + 200);
    Tensor out = memory.AsStrided({150}, {1}, 1);
    k.add(memory.AsStrided({150}, {1}, 0), memory.AsStrided({}, {}, 7), &out);
    for (int i = 0; i < 150; ++i) {
      ASSERT_EQ(out.data<float>()[i], before[i] + before[7]) << k.isa;
    }
  }
}

TEST(Elementwise, OutputsThatShareElementsAreRefused) {
  Tensor out = RandomFloats(1).AsStrided({4}, {0}, 0);
  EXPECT_THROW(
      AllTestingKernels()[0].add(RandomFloats(4), RandomFloats(4), &out),
      Error);
}

TEST(Elementwise, InstructionSetsGiveTheSameBits) {
  const int64_t n = 1000;
  const Tensor x = RandomFloats(2 * n), y = RandomFloats(2 * n);
  const Tensor cx =
      Tensor::FromStorage(x.storage(), DType::kComplex64, {n}, {1});
  const Tensor cy =
      Tensor::FromStorage(y.storage(), DType::kComplex64, {n}, {1});
  std::vector<Tensor> exps, products, halves;
  for (const TestingKernels& k : AllTestingKernels()) {
    exps.push_back(Tensor::Empty({2 * n}, DType::kFloat32));
    k.exp(x, &exps.back());
    products.push_back(Tensor::Empty({n}, DType::kComplex64));
    k.multiply_complex(cx, cy, &products.back());
    halves.push_back(Tensor::Empty({2 * n}, DType::kFloat16));
    k.add(x, y, &halves.back());
  }
  for (const auto* results : {&exps, &products, &halves}) {
    for (const Tensor& t : *results) {
      EXPECT_EQ(std::memcmp(t.raw_data(), (*results)[0].raw_data(), t.bytes()),
                0);
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
