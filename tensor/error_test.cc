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

// What `throw_it` throws.
template <typename F>
std::string Caught(F&& throw_it, std::string* frames) {
  try {
    throw_it();
  } catch (const Error& e) {
    *frames = e.frames();
    return e.what();
  }
  return "nothing";
}

TEST(Error, FramesOnlyOnRequest) {
  std::string frames;
  EXPECT_EQ(Caught([] { FailArgument("a"); }, &frames), "a");
  EXPECT_EQ(frames, "");
  SetErrorFrames(true);
  EXPECT_EQ(Caught([] { FailArgument("a"); }, &frames), "a");
  SetErrorFrames(false);
  EXPECT_NE(frames.find("FramesOnlyOnRequest"), std::string::npos) << frames;
  EXPECT_NE(frames.find("  #0 "), std::string::npos) << frames;
}

[[gnu::noinline]] void FarAway() { ThrowTypeError("add: x is None"); }

TEST(Error, ThrowWithKeepsTypeAndFrames) {
  SetErrorFrames(true);
  try {
    try {
      FarAway();
    } catch (const Error& e) {
      SetErrorFrames(false);
      e.ThrowWith("in the program");
    }
  } catch (const TypeError& e) {
    EXPECT_STREQ(e.what(), "add: x is None\nin the program");
    EXPECT_NE(e.frames().find("FarAway"), std::string::npos) << e.frames();
    return;
  }
  FAIL();
}

TEST(Error, ThrowAfterKeepsTypeAndFrames) {
  SetErrorFrames(true);
  try {
    try {
      FarAway();
    } catch (const Error& e) {
      SetErrorFrames(false);
      e.ThrowAfter("bmm: ");
    }
  } catch (const TypeError& e) {
    EXPECT_STREQ(e.what(), "bmm: add: x is None");
    EXPECT_NE(e.frames().find("FarAway"), std::string::npos) << e.frames();
    return;
  }
  FAIL();
}

}  // namespace
}  // namespace proa::inline v0
