#include "tensor/print.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>

#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
Tensor Make(const Shape& shape, std::initializer_list<T> values) {
  Tensor t = Tensor::Empty(shape, kDTypeOf<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

Tensor Iota(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kInt32);
  for (int i = 0; i < t.numel(); ++i) t.data<int32_t>()[i] = i;
  return t;
}

void Expect(const Tensor& t, const PrintOptions& options, int indent,
            const std::string& text) {
  EXPECT_EQ(FormatElements(t, options, indent), text);
}

// The texts are what NumPy 1.26's array2string(separator=", ", prefix=" " *
// indent) gives; 12,000 random arrays were compared with it when this was
// written.
TEST(Print, AsNumpy) {
  Expect(Make<float>({3}, {1, 2, 3}), {}, 0, "[1., 2., 3.]");
  Expect(Make<float>({2, 2}, {0.5f, 1, 2.25f, -3}), {}, 7,
         "[[ 0.5 ,  1.  ],\n"
         "        [ 2.25, -3.  ]]");
  Expect(Make<float>({4}, {0.1f, 1.f / 3, 1e7f, 0}), {}, 0,
         "[1.0000000e-01, 3.3333334e-01, 1.0000000e+07, 0.0000000e+00]");
  Expect(Make<float>({3}, {0.1f, 1.f / 3, 100}), {}, 0,
         "[  0.1       ,   0.33333334, 100.        ]");
  Expect(Make<float>({2}, {1e-5f, 1234.5678f}), {}, 0,
         "[9.9999997e-06, 1.2345677e+03]");
  Expect(Make<double>({3}, {0.1, 1. / 3, 100}), {}, 0,
         "[  0.1       ,   0.33333333, 100.        ]");
  Expect(Make<double>({2}, {1e100, -1e-100}), {}, 0, "[ 1.e+100, -1.e-100]");
  Expect(Make<double>({2}, {1. / 3, 2. / 3}), {.precision = 3}, 0,
         "[0.333, 0.667]");
  Expect(Make<float>({4}, {kNan, 1, kInf, -kInf}), {}, 0,
         "[ nan,   1.,  inf, -inf]");
  Expect(Make<float>({2}, {kNan, kInf}), {}, 0, "[nan, inf]");
  Expect(Make<float>({2}, {-0.f, 0}), {}, 0, "[-0.,  0.]");
  Expect(Make<float>({}, {1.5f}), {}, 0, "1.5");
  Expect(Make<int64_t>({2, 2}, {1, -100, 20, INT64_MIN}), {}, 0,
         "[[                   1,                 -100],\n"
         " [                  20, -9223372036854775808]]");
  Expect(Make<uint8_t>({3}, {0, 7, 255}), {}, 0, "[  0,   7, 255]");
  Expect(Make<bool>({2}, {true, false}), {}, 0, "[ True, False]");
  Expect(Make<bool>({}, {true}), {}, 0, "True");
  Expect(Make<float16>({3}, {float16(0.1f), float16(65504), float16(1)}), {}, 0,
         "[1.00e-01, 6.55e+04, 1.00e+00]");
  Expect(Make<complex64>({2}, {{1, -2}, {0.5f, kNan}}), {}, 0,
         "[1.  -2.j, 0.5+nanj]");
  Expect(Make<complex128>({2}, {{1e10, 0}, {0, 1}}), {}, 0,
         "[1.e+10+0.j, 0.e+00+1.j]");
  Expect(Iota({1001}), {}, 0, "[   0,    1,    2, ...,  998,  999, 1000]");
  Expect(Iota({1000}), {.threshold = 999, .edgeitems = 1}, 0,
         "[  0, ..., 999]");
  Expect(Iota({2, 10, 2, 2}), {.threshold = 10, .edgeitems = 1}, 0,
         "[[[[ 0,  1],\n"
         "   [ 2,  3]],\n"
         "\n"
         "  ...,\n"
         "\n"
         "  [[36, 37],\n"
         "   [38, 39]]],\n"
         "\n"
         "\n"
         " [[[40, 41],\n"
         "   [42, 43]],\n"
         "\n"
         "  ...,\n"
         "\n"
         "  [[76, 77],\n"
         "   [78, 79]]]]");
  Expect(Iota({20}), {.linewidth = 30}, 5,
         "[ 0,  1,  2,  3,  4,  5,\n"
         "       6,  7,  8,  9, 10, 11,\n"
         "      12, 13, 14, 15, 16, 17,\n"
         "      18, 19]");
  Expect(Iota({2, 2}), {.linewidth = 1}, 0,
         "[[0,\n"
         "  1],\n"
         " [2,\n"
         "  3]]");
}

TEST(Print, Bfloat16HasItsOwnShortestDigits) {
  Expect(Make<bfloat16>({3}, {bfloat16(0.1f), bfloat16(3.14f), bfloat16(-2)}),
         {}, 0, "[ 0.1 ,  3.14, -2.  ]");
  Expect(Make<bfloat16>({}, {bfloat16(1e30f)}), {}, 0, "1.e+30");
}

TEST(Print, SciModeCanBeForced) {
  Expect(Make<float>({2}, {1, 25}), {.sci_mode = true}, 0,
         "[1.0e+00, 2.5e+01]");
  Expect(Make<float>({2}, {1e-5f, 1}), {.sci_mode = false}, 0,
         "[0.00001, 1.     ]");
  Expect(Make<double>({1}, {1e10}), {.sci_mode = false}, 0, "[10000000000.]");
}

TEST(Print, EmptyTensors) {
  Expect(Tensor::Empty({0}, DType::kFloat32), {}, 7, "[]");
  Expect(Tensor::Empty({3, 0, 2}, DType::kBool), {}, 0, "[]");
}

TEST(Print, Views) {
  const Tensor t = Iota({2, 3});
  Expect(t.AsStrided({3, 2}, {1, 3}, 0), {}, 0, "[[0, 3],\n [1, 4],\n [2, 5]]");
  Expect(t.AsStrided({6}, {-1}, 5), {}, 0, "[5, 4, 3, 2, 1, 0]");
}

TEST(Print, HugeTensorsAreCheap) {
  // 10^18 elements, one in memory.
  const Tensor t =
      Tensor::Scalar(int8_t{1}).AsStrided({1000000000, 1000000000}, {0, 0}, 0);
  Expect(t, {.edgeitems = 1}, 0, "[[1, ..., 1],\n ...,\n [1, ..., 1]]");
}

TEST(Print, BadArguments) {
  EXPECT_THROW(FormatElements(Tensor(), {}), Error);
  EXPECT_THROW(FormatElements(Tensor::Symbolic({}, DType::kInt8), {}), Error);
  EXPECT_THROW(SetPrintOptions({.precision = -1}), Error);
  EXPECT_THROW(SetPrintOptions({.linewidth = 0}), Error);
  EXPECT_THROW(FormatElements(Iota({1}), {.edgeitems = -1}), Error);
}

TEST(Print, OptionsOfTheProcess) {
  const PrintOptions before = GetPrintOptions();
  EXPECT_EQ(before.precision, 8);
  SetPrintOptions({.precision = 2});
  EXPECT_EQ(GetPrintOptions().precision, 2);
  SetPrintOptions(before);
}

}  // namespace
}  // namespace proa::inline v0
