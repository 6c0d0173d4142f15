#include "jit/file_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace proa::inline v0::jit {
namespace {

constexpr char kMagic[] = "TESTFILE";

std::string Sealed(const std::string& payload) {
  return Envelope(kMagic, payload.size(), Crc32c(payload)) + payload;
}

// Published check value of the Castagnoli polynomial.
TEST(Crc32c, OfDigits) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c("6789", Crc32c("12345")), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32c, TheSameWithAndWithoutTheInstruction) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * i % 253);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; size < 40; ++size) {
      const auto piece = std::string_view(bytes).substr(begin, size);
      EXPECT_EQ(Crc32c(piece, 77), internal::Crc32cOfTables(piece, 77));
    }
  }
  EXPECT_EQ(Crc32c(bytes), internal::Crc32cOfTables(bytes, 0));
}

TEST(Unseal, GivesThePayload) {
  for (const std::string& payload : {std::string(), std::string("abc\0d", 5)}) {
    const std::string file = Sealed(payload);
    EXPECT_EQ(file.size(), kEnvelopeBytes + payload.size());
    const auto found = Unseal("f", kMagic, file);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, payload);
  }
}

// Every byte of a file counts, and its length.
TEST(Unseal, RefusesWhateverWasChanged) {
  const std::string file = Sealed("some payload");
  for (size_t i = 0; i < file.size(); ++i) {
    EXPECT_FALSE(Unseal("f", kMagic, file.substr(0, i)).ok()) << i;
    for (const int bit : {0, 7}) {
      std::string bad = file;
      bad[i] ^= static_cast<char>(1 << bit);
      const auto refused = Unseal("f", kMagic, bad);
      ASSERT_FALSE(refused.ok()) << i;
      EXPECT_EQ(refused.status().message().substr(0, 1), "f");
    }
  }
  EXPECT_FALSE(Unseal("f", kMagic, file + "x").ok());
  EXPECT_FALSE(Unseal("f", "OTHERONE", file).ok());
}

class WholeFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  const std::string path_ = ::testing::TempDir() + "/whole_file";
};

TEST_F(WholeFileTest, KnowsWhetherAnotherTookItsName) {
  Write(path_, "one");
  const auto file = WholeFile::Read(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->bytes(), "one");
  EXPECT_TRUE(file->IsStillAt(path_));
  Write(path_ + ".new", "two");
  std::rename((path_ + ".new").c_str(), path_.c_str());
  EXPECT_FALSE(file->IsStillAt(path_));
  unlink(path_.c_str());
  EXPECT_FALSE(file->IsStillAt(path_));
}

TEST_F(WholeFileTest, MapsWithoutACopy) {
  Write(path_, "one");
  std::shared_ptr<void> memory;
  {
    const auto file = WholeFile::Map(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->bytes(), "one");
    memory = file->memory();
  }
  // The bytes stay, and what is written to them is not the file's.
  char* const bytes = static_cast<char*>(memory.get());
  EXPECT_EQ(std::string(bytes, 3), "one");
  bytes[0] = 'O';
  EXPECT_EQ(WholeFile::Read(path_)->bytes(), "one");
  Write(path_, "");
  const auto empty = WholeFile::Map(path_);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->bytes(), "");
  EXPECT_FALSE(WholeFile::Map(path_ + " that is not there").ok());
  EXPECT_FALSE(WholeFile::Map(::testing::TempDir()).ok());
}

TEST_F(WholeFileTest, ReadsRegularFilesOnly) {
  EXPECT_FALSE(WholeFile::Read(path_ + " that is not there").ok());
  EXPECT_FALSE(WholeFile::Read(::testing::TempDir()).ok());
  const std::string pipe = path_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(WholeFile::Read(pipe).ok());  // and does not wait
  unlink(pipe.c_str());
}

}  // namespace
}  // namespace proa::inline v0::jit
