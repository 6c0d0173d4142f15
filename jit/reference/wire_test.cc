#include "jit/reference/wire.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

std::string ErrorOf(const std::string& bytes, void (*read)(WireReader&)) {
  WireReader r(bytes, "program");
  try {
    while (r.Next()) read(r);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// The bytes are those of the format's own documentation: field 1 is 150, field
// 2 is "testing".
TEST(WireTest, ReadsWhatOthersWrote) {
  const std::string bytes("\x08\x96\x01\x12\x07testing", 12);
  WireReader r(bytes, "program");
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.field(), 1);
  EXPECT_EQ(r.Varint(), 150u);
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.field(), 2);
  EXPECT_EQ(r.Bytes(), "testing");
  EXPECT_FALSE(r.Next());
}

TEST(WireTest, WritesTheSameBytes) {
  WireWriter w;
  w.Varint(1, 150);
  w.Bytes(2, "testing");
  EXPECT_EQ(w.bytes(), std::string("\x08\x96\x01\x12\x07testing", 12));
}

TEST(WireTest, NumbersComeBack) {
  const std::vector<int64_t> numbers = {0,
                                        1,
                                        -1,
                                        127,
                                        128,
                                        std::numeric_limits<int64_t>::min(),
                                        std::numeric_limits<int64_t>::max()};
  WireWriter w;
  for (const int64_t n : numbers) w.Int(3, n);
  w.Float(4, -0.5f);
  w.Double(5, 1e300);
  WireReader r(w.bytes(), "program");
  for (const int64_t n : numbers) {
    ASSERT_TRUE(r.Next());
    EXPECT_EQ(r.Int(), n);
  }
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.Float(), -0.5f);
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.Double(), 1e300);
}

TEST(WireTest, RepeatedNumbersMayBePacked) {
  const std::string apart("\x18\x01\x18\x02\x18\x03", 6);
  const std::string packed("\x1a\x03\x01\x02\x03", 5);
  for (const std::string& bytes : {apart, packed}) {
    std::vector<int64_t> found;
    WireReader r(bytes, "program");
    while (r.Next()) r.EachInt([&](int64_t n) { found.push_back(n); });
    EXPECT_EQ(found, (std::vector<int64_t>{1, 2, 3}));
  }
}

TEST(WireTest, SkipsEveryKind) {
  WireWriter w;
  w.Varint(1, 1u << 20);
  w.Float(2, 1);
  w.Double(3, 1);
  w.Bytes(4, "text");
  w.Varint(5, 7);
  WireReader r(w.bytes(), "program");
  while (r.Next() && r.field() != 5) r.Skip();
  EXPECT_EQ(r.Varint(), 7u);
}

TEST(WireTest, ErrorsSayWhere) {
  const auto skip = [](WireReader& r) { r.Skip(); };
  const auto bytes = [](WireReader& r) { r.Bytes(); };
  // A length of 2^35 where one byte is left.
  EXPECT_NE(ErrorOf(std::string("\x12\x80\x80\x80\x80\x80\x01x", 8), bytes)
                .find("program: byte 7: the file ends here"),
            std::string::npos);
  EXPECT_NE(ErrorOf(std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                                "\x01",
                                12),
                    skip)
                .find("more than 64 bits"),
            std::string::npos);
  EXPECT_NE(ErrorOf("\x0b", skip).find("of kind 3"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string("\x00", 1), skip).find("no number"),
            std::string::npos);
  EXPECT_NE(ErrorOf(std::string("\x08\x01", 2), bytes).find("of kind 0, not 2"),
            std::string::npos);
}

TEST(WireTest, MessagesWithinKnowTheirPlaceInTheFile) {
  const std::string bytes("\x0a\x02\x12\x05", 4);  // a text of 5 bytes in 2
  WireReader outer(bytes, "program");
  ASSERT_TRUE(outer.Next());
  WireReader inner = outer.Message("block");
  ASSERT_TRUE(inner.Next());
  try {
    inner.Bytes();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("block: byte 4"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace proa::inline v0::jit::reference
