#include "tensor/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

TEST(Scalar, Kinds) {
  EXPECT_EQ(Scalar(true).kind(), 'b');
  EXPECT_EQ(Scalar(3).kind(), 'i');
  EXPECT_EQ(Scalar(int64_t{3}).kind(), 'i');
  EXPECT_EQ(Scalar(1.5f).kind(), 'f');
  EXPECT_EQ(Scalar(bfloat16(1.5f)).kind(), 'f');
  EXPECT_EQ(Scalar(complex64(1, 2)).kind(), 'c');
  EXPECT_EQ(Scalar(), Scalar(0));
}

TEST(Scalar, Converts) {
  EXPECT_EQ(Scalar(2).to<float>(), 2.f);
  EXPECT_EQ(Scalar(-2.75).to<int32_t>(), -2);
  EXPECT_EQ(Scalar(300).to<uint8_t>(), 44);
  EXPECT_TRUE(Scalar(0.5).to<bool>());
  EXPECT_TRUE(Scalar(NAN).to<bool>());
  EXPECT_EQ(Scalar(1.5).to<complex128>(), complex128(1.5, 0));
  EXPECT_EQ(Scalar(complex64(1, 0)).to<double>(), 1);
  EXPECT_EQ(Scalar(1e9).to<float16>(), INFINITY);
  EXPECT_EQ(Scalar(-0x1p63).to<int64_t>(), std::numeric_limits<int64_t>::min());
}

TEST(Scalar, RefusesWhatHasNoValue) {
  EXPECT_THROW(Scalar(NAN).to<int64_t>(), Error);
  EXPECT_THROW(Scalar(0x1p63).to<int64_t>(), Error);
  EXPECT_THROW(Scalar(-INFINITY).to<int8_t>(), Error);
  EXPECT_THROW(Scalar(complex64(1, 2)).to<float>(), TypeError);
  EXPECT_THROW(Scalar(complex64(1, 2)).to<int64_t>(), TypeError);
}

TEST(Scalar, PrintsAsPython) {
  EXPECT_EQ(ToString(Scalar(true)), "True");
  EXPECT_EQ(ToString(Scalar(-7)), "-7");
  EXPECT_EQ(ToString(Scalar(2.0)), "2.0");
  EXPECT_EQ(ToString(Scalar(0.1)), "0.1");
  EXPECT_EQ(ToString(Scalar(1e-5)), "1e-05");
  EXPECT_EQ(ToString(Scalar(1e22)), "1e+22");
  EXPECT_EQ(ToString(Scalar(-INFINITY)), "-inf");
  EXPECT_EQ(ToString(Scalar(complex64(1, -2))), "(1-2j)");
}

TEST(Scalar, Compares) {
  EXPECT_EQ(Scalar(NAN), Scalar(NAN));
  EXPECT_FALSE(Scalar(1) == Scalar(1.0));
  EXPECT_FALSE(Scalar(1) == Scalar(true));
  EXPECT_FALSE(Scalar(complex64(1, 2)) == Scalar(complex64(1, 3)));
}

}  // namespace
}  // namespace proa::inline v0
