#include "ops/onednn/guards.h"

#include <cstring>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/error.h"

namespace proa::onednn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(GuardedBuffer, HoldsWhatIsWrittenIntoIt) {
  for (int64_t bytes : {0, 1, 63, 64, 4096, 5000}) {
    const GuardedBuffer b(bytes);
    EXPECT_EQ(b.bytes(), bytes);
    std::memset(b.data(), 1, static_cast<size_t>(bytes));
    b.Check("a test", "it");
  }
}

TEST(GuardedBuffer, IsNaNBeforeItIsWritten) {
  const GuardedBuffer b(4);
  float f;
  std::memcpy(&f, b.data(), 4);
  EXPECT_NE(f, f);
}

TEST(GuardedBuffer, SaysWhatWasWrittenBehindIt) {
  const GuardedBuffer b(100);
  static_cast<char*>(b.data())[101] = 1;
  EXPECT_THAT([&] { b.Check("a kernel", "the weights"); },
              ThrowsMessage<Error>(HasSubstr(
                  "a kernel wrote 2 bytes or more behind the weights")));
}

TEST(GuardedBuffer, SaysWhatWasWrittenBeforeIt) {
  const GuardedBuffer b(100);
  static_cast<char*>(b.data())[-4] = 1;
  EXPECT_THAT([&] { b.Check("a kernel", "the weights"); },
              ThrowsMessage<Error>(
                  HasSubstr("a kernel wrote 4 bytes before the weights")));
}

TEST(GuardedBuffer, FarBehindItNothingMayBeTouched) {
  const GuardedBuffer b(64);
  EXPECT_DEATH(static_cast<volatile char*>(b.data())[64] = 1, "");
}

TEST(GuardedBuffer, Moves) {
  GuardedBuffer a(10);
  void* const data = a.data();
  const GuardedBuffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
}

}  // namespace
}  // namespace proa::onednn
