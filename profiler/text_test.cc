#include "profiler/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace proa::inline v0::profiler {
namespace {

std::string Json(std::string_view s) {
  std::string out;
  AppendJson(s, &out);
  return out;
}

TEST(TextTest, InvalidUtf8IsReplaced) {
  const std::string good = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(ValidUtf8(good), good);
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ValidUtf8("\xFF"), bad);
  EXPECT_EQ(ValidUtf8("\xC0\x80"), bad + bad);            // overlong
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(ValidUtf8("\xE2\x82"), bad + bad);  // cut off
  EXPECT_EQ(ValidUtf8("\xE0\x80\x80"), bad + bad + bad);
  EXPECT_EQ(ValidUtf8("\xC3"), bad);
}

TEST(TextTest, Json) {
  EXPECT_EQ(Json("a\"b\\c\nd\x01\x7F"), "\"a\\\"b\\\\c\\nd\\u0001\\u007f\"");
  EXPECT_EQ(Json("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(Json("a&b"), "\"a\\u0026b\"");
  EXPECT_EQ(Json("\xC3"), "\"\xEF\xBF\xBD\"");
}

TEST(TextTest, Numbers) {
  std::string out;
  AppendJsonNumber(0.5, &out);
  EXPECT_EQ(out, "0.5");
  out.clear();
  AppendJsonNumber(std::numeric_limits<double>::quiet_NaN(), &out);
  EXPECT_EQ(out, "null");
  out.clear();
  AppendMicroseconds(1234567, &out);
  EXPECT_EQ(out, "1234.567");
  out.clear();
  AppendMicroseconds(-7, &out);
  EXPECT_EQ(out, "-0.007");
  out.clear();
  AppendMicroseconds(INT64_MIN, &out);
  EXPECT_EQ(out, "-9223372036854775.808");
  EXPECT_EQ(Fixed(1.005, 1), "1.0");
}

TEST(TextTest, Html) {
  EXPECT_EQ(HtmlText("<a href=\"x\">&\x01"),
            "&lt;a href=&quot;x&quot;&gt;&amp;\xEF\xBF\xBD");
}

}  // namespace
}  // namespace proa::inline v0::profiler
