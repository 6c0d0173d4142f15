#include "profiler/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"

namespace proa::inline v0::profiler {
namespace {

class OutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/output.XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  int Files() const {
    int n = 0;
    DIR* dir = opendir(dir_.c_str());
    while (const dirent* entry = readdir(dir)) n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
  }
  std::string dir_;
};

TEST_F(OutputTest, AFileAppearsWhenItIsComplete) {
  auto out = Output::ToFile(Path("a"));
  ASSERT_TRUE(out.ok());
  (*out)->Append("hello ");
  (*out)->Append("");
  (*out)->Append("world");
  EXPECT_EQ((*out)->size(), 11);
  EXPECT_NE(access(Path("a").c_str(), F_OK), 0);
  EXPECT_TRUE((*out)->Close().ok());
  EXPECT_TRUE((*out)->Close().ok());
  EXPECT_EQ(Read(Path("a")), "hello world");
  EXPECT_EQ(Files(), 1);
  struct stat s;
  ASSERT_EQ(stat(Path("a").c_str(), &s), 0);
  EXPECT_NE(s.st_mode & 0400, 0u);
}

TEST_F(OutputTest, WhatIsNotClosedLeavesNothing) {
  std::ofstream(Path("old")) << "old";
  {
    auto out = Output::ToFile(Path("old"));
    (*out)->Append("new");
  }
  EXPECT_EQ(Read(Path("old")), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(OutputTest, Gzip) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i % 100);
  EXPECT_TRUE(WriteFile(Path("z"), true, [&](Output& out) {
                out.Append(text);
                return absl::OkStatus();
              }).ok());
  EXPECT_LT(Read(Path("z")).size(), text.size() / 10);
  const int fd = open(Path("z").c_str(), O_RDONLY);
  google::protobuf::io::FileInputStream file(fd);
  google::protobuf::io::GzipInputStream unzip(&file);
  std::string back;
  const void* data;
  int size;
  while (unzip.Next(&data, &size))
    back.append(static_cast<const char*>(data), size);
  close(fd);
  EXPECT_EQ(back, text);
}

TEST_F(OutputTest, AFullDiskIsAnError) {
  for (const bool gzip : {false, true}) {
    auto out = Output::ToFile("/dev/full", gzip);
    ASSERT_TRUE(out.ok());
    for (int i = 0; i < 100000; ++i) (*out)->Append(std::to_string(i * 7919));
    EXPECT_FALSE(!gzip && (*out)->ok());  // noticed on the way
    const absl::Status s = (*out)->Close();
    EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(s.message(),
              "/dev/full: cannot be written: No space left on device");
  }
  // A small text fails no later than at the end.
  EXPECT_FALSE(WriteFile("/dev/full", false, [](Output& out) {
                 out.Append("x");
                 return absl::OkStatus();
               }).ok());
  EXPECT_EQ(access("/dev/full", F_OK), 0);
}

TEST_F(OutputTest, FilesThatCannotBe) {
  const auto missing = Output::ToFile(Path("no/such/dir"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Output::ToFile(dir_).ok());
}

}  // namespace
}  // namespace proa::inline v0::profiler
