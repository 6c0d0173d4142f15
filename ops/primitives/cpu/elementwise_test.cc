// What the conformance suite cannot see of the elementwise driver: every
// combination of layouts against a loop over indices, overlapping operands, and
// the same bits from every instruction set.

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/primitives/cpu/streaming.h"
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

// The other operand of an addition: its dims are 1 where `x` is repeated.
struct Repeated {
  const char* name;
  bool rows, columns;  // all rows of it are one row; its rows are one element
  int step;            // from element to element in memory
};
constexpr Repeated kRepeated[] = {{"contiguous", false, false, 1},
                                  {"a scalar", true, true, 1},
                                  {"a row", true, false, 1},
                                  {"a column", false, true, 1},
                                  {"every other", false, false, 2}};

Tensor Other(const Repeated& r, const Shape& shape) {
  Shape dims = shape;
  const int last = shape.rank() - 1;
  for (int d = 0; d <= last; ++d) {
    if (d == last ? r.columns : r.rows) dims[d] = 1;
  }
  Strides strides = ContiguousStrides(dims);
  for (int64_t& s : strides) s *= r.step;
  return RandomFloats(dims.numel() * r.step + 1).AsStrided(dims, strides, 1);
}

std::vector<float> Sums(const Tensor& x, const Tensor& y, const Shape& shape) {
  std::vector<float> out(shape.numel());
  std::vector<int64_t> index(shape.rank(), 0);
  for (float& sum : out) {
    sum = At(x, index) + At(y, index);
    for (int d = shape.rank() - 1; d >= 0 && ++index[d] == shape[d]; --d) {
      index[d] = 0;
    }
  }
  return out;
}

// `out` has rows.
template <typename T>
void ExpectElements(const std::vector<float>& wanted, const Tensor& out) {
  const int64_t width = out.size(out.rank() - 1), rows = out.numel() / width;
  const int64_t row = out.rank() < 2 ? 0 : out.strides()[out.rank() - 2];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      if (out.data<T>()[i * row + j] == T(wanted[i * width + j])) continue;
      FAIL() << "row " << i << ", element " << j << " of " << sizeof(T)
             << " bytes";
    }
  }
}

// Rows of a tensor that begins where no vector does and, if `padded`, lie
// apart.
Tensor Uneven(const Shape& shape, DType dtype, bool padded) {
  Shape memory = shape;
  if (padded) memory[shape.rank() - 1] += 3;
  return Tensor::Empty({memory.numel() + 1}, dtype)
      .AsStrided(shape, ContiguousStrides(memory), 1);
}

TEST(Elementwise, OperandsOfAnyLayoutPastTheCaches) {
  SetNumThreads(2);
  cpu::SetStreamBytes(1);
  // Widths are those of tiles and of strips and what is left of them.
  for (const Shape& shape : {Shape{70, 564}, Shape{130, 260}, Shape{1100, 30},
                             Shape{2, 257, 129}, Shape{20, 40, 60}}) {
    std::vector<int> order(shape.rank());
    for (int d = 0; d < shape.rank(); ++d) order[d] = d;
    do {
      const Tensor x = LaidOut(shape, order);
      for (const Repeated& r : kRepeated) {
        const Tensor y = Other(r, shape);
        const std::vector<float> wanted = Sums(x, y, shape);
        for (const TestingKernels& k : AllTestingKernels()) {
          for (const bool padded : {false, true}) {
            SCOPED_TRACE(testing::Message()
                         << k.isa << " " << ToString(shape) << ", strides "
                         << ToString(x.strides()) << ", and " << r.name
                         << (padded ? ", rows apart" : ""));
            const auto check = [&]<typename T>(T) {
              Tensor out = Uneven(shape, kDTypeOf<T>, padded);
              k.add(x, y, &out);
              ASSERT_NO_FATAL_FAILURE(ExpectElements<T>(wanted, out));
              k.add(y, x, &out);
              ASSERT_NO_FATAL_FAILURE(ExpectElements<T>(wanted, out));
            };
            ASSERT_NO_FATAL_FAILURE(check(float()));
            ASSERT_NO_FATAL_FAILURE(check(double()));
            ASSERT_NO_FATAL_FAILURE(check(float16()));
            ASSERT_NO_FATAL_FAILURE(check(bool()));
            ASSERT_NO_FATAL_FAILURE(check(complex128()));
          }
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  cpu::SetStreamBytes(0);
  SetNumThreads(AvailableCpus());
}

TEST(Elementwise, OperandsOfOtherTypesPastTheCaches) {
  cpu::SetStreamBytes(1);
  const Shape shape{140, 270};
  const Tensor x = LaidOut(shape, {1, 0}), y = Other(kRepeated[0], shape);
  const std::vector<float> wanted = Sums(x, y, shape);
  for (const TestingKernels& k : AllTestingKernels()) {
    SCOPED_TRACE(k.isa);
    for (const DType dtype : {DType::kFloat64, DType::kFloat16}) {
      // Elements are multiples of 1 / 64 below 16: both have them.
      Tensor a = Tensor::Empty({x.numel()}, dtype);
      Tensor b = Tensor::Empty({x.numel()}, dtype);
      Tensor zero = Tensor::Empty({}, DType::kFloat32);
      *zero.data<float>() = 0;
      a = a.AsStrided(shape, x.strides(), 0);
      k.add(x, zero, &a);
      b = b.AsStrided(shape, ContiguousStrides(shape), 0);
      k.add(y, zero, &b);
      Tensor out = Uneven(shape, DType::kFloat32, false);
      k.add(a, b, &out);
      ASSERT_NO_FATAL_FAILURE(ExpectElements<float>(wanted, out));
      k.add(a, y, &out);
      ASSERT_NO_FATAL_FAILURE(ExpectElements<float>(wanted, out));
      k.add(x, b, &out);
      ASSERT_NO_FATAL_FAILURE(ExpectElements<float>(wanted, out));
      k.add(a, a, &out);  // turned once
      ASSERT_NO_FATAL_FAILURE(ExpectElements<float>(Sums(x, x, shape), out));
    }
  }
  cpu::SetStreamBytes(0);
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
