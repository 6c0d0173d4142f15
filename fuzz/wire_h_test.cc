#include "fuzz/wire.h"

#include <set>

#include "gtest/gtest.h"

namespace proa::inline v0::fuzz {
namespace {

Field Number(uint32_t number, uint64_t value) {
  return {number, WireType::kVarint, value};
}
Field Text(uint32_t number, const char* text) {
  return {number, WireType::kBytes, 0, text};
}
Field Inner(uint32_t number, Message fields) {
  return {number, WireType::kBytes, 0, "", std::move(fields)};
}

Message Right() {
  return {Number(1, 300),
          Text(2, "conv2d"),
          Inner(3, {Number(1, ~0ull), Inner(2, {Number(7, 1)})}),
          {4, WireType::kFixed32, 0x3F800000}};
}

TEST(Message, IsWrittenAsItWasRead) {
  // 300 in two bytes of seven bits, the float 1 little endian.
  const std::string bytes =
      WriteMessage({Number(1, 300), {4, WireType::kFixed32, 0x3F800000}});
  EXPECT_EQ(bytes, std::string("\x08\xAC\x02\x25\x00\x00\x80\x3F", 8));
  const std::string all = WriteMessage(Right());
  const std::optional<Message> read = ReadMessage(all);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(WriteMessage(*read), all);
  ASSERT_TRUE((*read)[2].fields.has_value());
  EXPECT_EQ((*read)[2].fields->front().value, ~0ull);
}

TEST(Message, WhatIsNoneIsRefused) {
  EXPECT_FALSE(ReadMessage("\x08").has_value());          // cut off
  EXPECT_FALSE(ReadMessage("\x12\x05\x41").has_value());  // too short
  EXPECT_FALSE(ReadMessage("\x0B").has_value());          // a group
  EXPECT_FALSE(ReadMessage(std::string(11, '\xFF')).has_value());
}

TEST(Change, FollowsFromTheNumberAlone) {
  Pool pool;
  const Message right = Right();
  pool.Add(right);
  std::set<std::string> different;
  for (uint64_t i = 0; i < 500; ++i) {
    std::string made[2];
    for (std::string& bytes : made) {
      Random random(7, i);
      Message m = right;
      ChangeMessage(m, pool, random);
      bytes = WriteMessage(m);
    }
    EXPECT_EQ(made[0], made[1]);
    different.insert(made[0]);
  }
  EXPECT_GT(different.size(), 100u);
}

TEST(Change, TakesFromOtherMessages) {
  Pool pool;
  const Message other = {Text(2, "softmax"), Number(1, 12345)};
  pool.Add(other);
  bool text = false, number = false;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, i);
    Message m = Right();
    ChangeMessage(m, pool, random);
    for (const Field& f : m) {
      text |= f.bytes == "softmax";
      number |= f.value == 12345;
    }
  }
  EXPECT_TRUE(text);
  EXPECT_TRUE(number);
}

TEST(Change, OfBytesEndsAndStaysInBounds) {
  std::set<size_t> sizes;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(2, i);
    sizes.insert(ChangeBytes(i % 2 == 0 ? "" : "0123456789", random).size());
  }
  EXPECT_GT(sizes.size(), 10u);
}

}  // namespace
}  // namespace proa::inline v0::fuzz
