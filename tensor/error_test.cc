#include "tensor/error.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace proa::inline v0 {
namespace {

TEST(Error, CarriesCodeAndText) {
  try {
    Fail(absl::StatusCode::kOutOfRange, "op: axis ", 3,
         std::string_view(" is bad"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kOutOfRange);
    EXPECT_STREQ(e.what(), "op: axis 3 is bad");
  }
}

TEST(Error, RequireThrowsOnlyWhenFalse) {
  int evaluated = 0;
  auto text = [&] {
    ++evaluated;
    return std::string("x");
  };
  PROA_REQUIRE(true, text());
  EXPECT_EQ(evaluated, 0);
  EXPECT_THROW(PROA_REQUIRE(false, text()), Error);
  EXPECT_EQ(evaluated, 1);
}

TEST(Error, TypeErrorIsAnError) {
  EXPECT_THROW(ThrowTypeError("x"), TypeError);
  EXPECT_THROW(ThrowTypeError("x"), Error);
}

TEST(Error, FromStatus) {
  ThrowIfError(absl::OkStatus());
  try {
    ThrowIfError(absl::NotFoundError("gone"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kNotFound);
    EXPECT_STREQ(e.what(), "gone");
  }
}

}  // namespace
}  // namespace proa::inline v0
