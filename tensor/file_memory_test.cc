#include "tensor/file_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tensor/shared_memory.h"

namespace proa::inline v0 {
namespace {

// A file of three pages, mapped; byte i is i % 251.
class FileMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    page_ = sysconf(_SC_PAGESIZE);
    std::string name = testing::TempDir() + "/file_memory_XXXXXX";
    const int fd = mkstemp(name.data());
    ASSERT_GE(fd, 0);
    unlink(name.c_str());
    std::string bytes(3 * page_, '\0');
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>(i % 251);
    ASSERT_EQ(write(fd, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    void* const at =
        mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ASSERT_NE(at, MAP_FAILED);
    close(fd);
    data_ = static_cast<unsigned char*>(at);
    mapping_ = std::shared_ptr<void>(
        at, [n = bytes.size()](void* p) { munmap(p, n); });
  }

  // Which of the pages are in memory as this process's own copies or the
  // file's: read through the page table.
  bool IsMapped(int64_t page) const {
    const int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entry = 0;
    const auto at = reinterpret_cast<uintptr_t>(data_) / page_ + page;
    const ssize_t n = pread(fd, &entry, 8, static_cast<off_t>(at * 8));
    close(fd);
    return n == 8 && (entry >> 63) != 0;
  }

  int64_t page_ = 0;
  unsigned char* data_ = nullptr;
  std::shared_ptr<void> mapping_;
};

TEST_F(FileMemoryTest, WholePagesAreForgottenAndComeBack) {
  const int64_t bytes = 3 * page_ - 20;
  const auto storage = FileStorage(data_ + 10, bytes, mapping_);
  EXPECT_TRUE(IsFileMemory(*storage));
  EXPECT_FALSE(IsSharedMemory(*storage));
  int sum = 0;
  for (int64_t i = 0; i < 3 * page_; ++i) sum += data_[i];
  ASSERT_TRUE(IsMapped(1));
  ForgetFilePages(*storage);
  EXPECT_TRUE(IsMapped(0));
  EXPECT_FALSE(IsMapped(1));
  EXPECT_TRUE(IsMapped(2));
  for (int64_t i = 0; i < 3 * page_; ++i) sum -= data_[i];
  EXPECT_EQ(sum, 0);
}

TEST_F(FileMemoryTest, WhatWasChangedStays) {
  const auto storage = FileStorage(data_, 3 * page_, mapping_);
  data_[page_] = 255;
  storage->BumpVersion();
  ForgetFilePages(*storage);
  EXPECT_EQ(data_[page_], 255);
}

TEST_F(FileMemoryTest, GoesWithItsPages) {
  std::weak_ptr<void> mapping = mapping_;
  auto storage = FileStorage(data_, 2 * page_, std::move(mapping_));
  auto other = FileStorage(data_ + 2 * page_, page_, mapping.lock());
  data_[0] = data_[2 * page_] = 254;
  storage = nullptr;
  EXPECT_FALSE(IsMapped(0));
  EXPECT_EQ(data_[2 * page_], 254);
  other = nullptr;
  EXPECT_TRUE(mapping.expired());
}

TEST_F(FileMemoryTest, OthersAreLeftAlone) {
  const auto storage = Storage::Allocate(3 * page_, Place{});
  static_cast<unsigned char*>(storage->data())[page_] = 7;
  ForgetFilePages(*storage);
  EXPECT_EQ(static_cast<unsigned char*>(storage->data())[page_], 7);
}

}  // namespace
}  // namespace proa::inline v0
