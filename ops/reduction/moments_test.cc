// What the conformance suite cannot see of var and logsumexp: long and wide
// inputs, in which partial results meet, against double arithmetic; data that
// is hard on one pass; the same bits for any number of threads.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/nn/softmax_ops.h"
#include "ops/reduction/extremum_ops.h"
#include "ops/reduction/moments_ops.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Value = std::function<double(int64_t)>;

Tensor Filled(const Shape& shape, const Value& value) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data<float>()[i] = static_cast<float>(value(i));
  }
  return t;
}

// In [0, 1), without a pattern.
double Noise(int64_t i) {
  return static_cast<double>((static_cast<uint64_t>(i) * 2654435761u) % 65536) /
         65536;
}

// [outer, n, inner] with the middle taken together by `line`.
std::vector<double> Exact(const Tensor& x, int axis,
                          double (*line)(const std::vector<double>&)) {
  int64_t outer = 1, inner = 1;
  const int64_t n = x.size(axis);
  for (int d = 0; d < axis; ++d) outer *= x.size(d);
  for (int d = axis + 1; d < x.rank(); ++d) inner *= x.size(d);
  std::vector<double> out, values(n);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      for (int64_t i = 0; i < n; ++i) {
        values[i] =
            static_cast<double>(x.data<float>()[(o * n + i) * inner + j]);
      }
      out.push_back(line(values));
    }
  }
  return out;
}

double Variance(const std::vector<double>& x) {
  double mean = 0, sum = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(x.size() - 1);
}

double LogSum(const std::vector<double>& x) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double v : x) top = std::isnan(v) || v > top ? v : top;
  if (!std::isfinite(top)) {
    for (const double v : x) top = std::isnan(v) ? v : top;
    return top;
  }
  for (const double v : x) sum += std::exp(v - top);
  return top + std::log(sum);
}

using Op = std::function<Tensor(const Tensor&, int64_t)>;

void ExpectClose(const Tensor& x, const Op& op,
                 double (*line)(const std::vector<double>&), double relative,
                 double absolute = 1e-12) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::vector<double> want = Exact(x, axis, line);
    std::vector<float> first;
    for (const int threads : {1, 2, 5}) {
      SetNumThreads(threads);
      const Tensor got = op(x, axis);
      const float* g = got.data<float>();
      ASSERT_EQ(got.numel(), static_cast<int64_t>(want.size()));
      for (size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) {
          ASSERT_TRUE(std::isnan(g[i])) << axis << " at " << i;
        } else if (std::isinf(want[i])) {
          ASSERT_EQ(static_cast<double>(g[i]), want[i]) << axis << " at " << i;
        } else {
          ASSERT_NEAR(static_cast<double>(g[i]), want[i],
                      relative * std::abs(want[i]) + absolute)
              << ToString(x.shape()) << " axis " << axis << " at " << i;
        }
      }
      if (first.empty()) first.assign(g, g + want.size());
      ASSERT_EQ(std::memcmp(first.data(), g, 4 * want.size()), 0) << threads;
    }
  }
  SetNumThreads(AvailableCpus());
}

Tensor Var(const Tensor& x, int64_t axis) {
  const int64_t axes[] = {axis};
  return ops::var(x, axes);
}
Tensor Logsumexp(const Tensor& x, int64_t axis) {
  const int64_t axes[] = {axis};
  return ops::logsumexp(x, axes);
}

const Shape kShapes[] = {{200001},      {700, 300},  {70001, 3},  {3, 70001},
                         {40, 9, 1100}, {130, 2100}, {1100, 7, 5}};

TEST(Var, AnyShapeOfAnyData) {
  const Value data[] = {
      Noise,
      [](int64_t i) { return 1e5 + Noise(i); },          // far from 0
      [](int64_t i) { return static_cast<double>(i); },  // drifts
      [](int64_t i) { return i % 1024 == 0 ? 1e6 : Noise(i); },
      [](int64_t i) { return i < 4000 ? 1e4 : Noise(i); },  // a step
      [](int64_t) { return 3.25; },
  };
  for (const Shape& shape : kShapes) {
    for (const Value& value : data) {
      ExpectClose(Filled(shape, value), Var, Variance, 4e-6);
    }
  }
}

TEST(Var, StridedAndHalf) {
  const Tensor x = Filled({600, 130}, Noise);
  const Tensor turned = x.AsStrided({130, 600}, {1, 130}, 0);
  const Tensor other = x.AsStrided({300, 65}, {260, 2}, 0);
  for (const Tensor& t : {turned, other}) {
    const Tensor dense = ops::add(t, Filled({1}, [](int64_t) { return 0.; }));
    for (const int64_t axis : {0, 1}) {
      const Tensor got = Var(t, axis);
      const std::vector<double> want =
          Exact(dense, static_cast<int>(axis), Variance);
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(got.data<float>()[i]), want[i], 1e-6);
      }
      const Tensor half = Var(ops::cast(t, DType::kBFloat16), axis);
      EXPECT_NEAR(static_cast<double>(
                      ops::cast(half, DType::kFloat32).data<float>()[0]),
                  want[0], 0.01 * want[0]);
    }
  }
}

TEST(Var, DoubleKeepsItsDigits) {
  Tensor x = Tensor::Empty({100000}, DType::kFloat64);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] = 1e9 + static_cast<double>(i % 4);
  }
  EXPECT_NEAR(*ops::var(x, {}).data<double>(), 1.25 * 100000 / 99999, 1e-9);
}

TEST(Logsumexp, AnyShapeOfAnyData) {
  const Value data[] = {
      Noise,
      [](int64_t i) { return 0.01 * static_cast<double>(i) - 900; },
      [](int64_t i) { return 300 - 0.01 * static_cast<double>(i); },
      [](int64_t i) { return i % 5 != 0 ? -kInf : 200 * Noise(i); },
      [](int64_t i) { return i < 190000 ? -kInf : Noise(i); },
      [](int64_t) { return -kInf; },
      [](int64_t i) { return i == 1234 ? kInf : Noise(i); },
      [](int64_t i) { return i == 1235 ? kNan
                             : i == 7  ? kInf
                                       : Noise(i); },
      [](int64_t i) { return i == 1235 ? 3e38 : -3e38; },
  };
  for (const Shape& shape : kShapes) {
    for (const Value& value : data) {
      // Results near 0 are differences of numbers near 1.
      ExpectClose(Filled(shape, value), Logsumexp, LogSum, 2e-6, 2e-6);
    }
  }
}

// Lines are taken in by twos, or a long one by halves.
TEST(Logsumexp, LinesOfEveryLengthAndNumber) {
  for (const int64_t n : {31, 511, 512, 513, 545, 4096, 4097, 8191, 8192, 8193,
                          16385, 65535, 65536, 65537, 73729, 139267}) {
    const auto places = {int64_t{0}, n / 2 - 1, n / 2, n - 1};
    for (const int64_t lines : {1, 2, 3, 17}) {
      if (lines * n > 300000) continue;
      const Shape shape{lines, n};
      ExpectClose(Filled(shape, Noise), Logsumexp, LogSum, 2e-6, 2e-6);
      for (const int64_t at : places) {  // of every line but the first
        for (const double v : {double{kNan}, double{kInf}, 95.0}) {
          const Value value = [&](int64_t i) {
            return i % n == at && (lines == 1 || i >= n) ? v : Noise(i);
          };
          ExpectClose(Filled(shape, value), Logsumexp, LogSum, 2e-6, 2e-6);
        }
      }
    }
  }
}

TEST(Softmax, OfColumnsIsSoftmaxOfRows) {
  for (const Shape& shape : {Shape{300, 70}, Shape{5000, 3}, Shape{9, 2100}}) {
    const Tensor x = Filled(shape, [](int64_t i) {
      return i == 3 ? kNan : i == 10 ? -kInf : 50 * Noise(i);
    });
    const Tensor turned =
        ops::add(x.AsStrided({shape[1], shape[0]}, {1, shape[1]}, 0),
                 Filled({1}, [](int64_t) { return 0.; }));
    const Tensor rows[] = {ops::softmax(turned, 1),
                           ops::log_softmax(turned, 1)};
    const Tensor columns[] = {ops::softmax(x, 0), ops::log_softmax(x, 0)};
    for (int k = 0; k < 2; ++k) {
      for (int64_t i = 0; i < shape[0]; ++i) {
        for (int64_t j = 0; j < shape[1]; ++j) {
          const float want = rows[k].data<float>()[j * shape[0] + i];
          const float got = columns[k].data<float>()[i * shape[1] + j];
          if (std::isnan(want) || std::isinf(want)) {
            ASSERT_EQ(std::isnan(want), std::isnan(got)) << i << " " << j;
            continue;
          }
          ASSERT_NEAR(got, want, 1e-5f * std::max(1.f, std::abs(want)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace proa::inline v0
