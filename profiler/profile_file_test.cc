#include "profiler/profile_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "profiler/testing_recording.h"

namespace proa::inline v0::profiler {
namespace {

std::string Bytes(const Recording& r) {
  std::string bytes;
  const auto out = Output::ToString(&bytes);
  EXPECT_TRUE(WriteProfile(r, *out).ok());
  EXPECT_TRUE(out->Close().ok());
  return bytes;
}

void ExpectSameText(const char* a, const char* b) {
  ASSERT_EQ(a == nullptr, b == nullptr);
  if (a != nullptr) {
    EXPECT_STREQ(a, b);
  }
}

void ExpectSame(const Recording& a, const Recording& b) {
  EXPECT_EQ(a.start_ns, b.start_ns);
  EXPECT_EQ(a.stop_ns, b.stop_ns);
  EXPECT_EQ(a.dropped, b.dropped);
  EXPECT_EQ(a.clock_steps, b.clock_steps);
  EXPECT_EQ(a.roof.gflops_per_s, b.roof.gflops_per_s);
  ASSERT_EQ(a.threads.size(), b.threads.size());
  for (size_t i = 0; i < a.threads.size(); ++i) {
    EXPECT_EQ(a.threads[i].name, b.threads[i].name);
    EXPECT_EQ(a.threads[i].system_id, b.threads[i].system_id);
    EXPECT_EQ(a.threads[i].device, b.threads[i].device);
  }
  ASSERT_EQ(a.processes.size(), b.processes.size());
  EXPECT_EQ(a.processes[0].name, b.processes[0].name);
  EXPECT_EQ(a.processes[0].boot, b.processes[0].boot);
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) {
    const Event &x = a.events[i], &y = b.events[i];
    EXPECT_STREQ(x.name, y.name);
    EXPECT_STREQ(x.category, y.category);
    ExpectSameText(x.path, y.path);
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.start_ns, y.start_ns);
    EXPECT_EQ(x.end_ns, y.end_ns);
    EXPECT_EQ(x.value, y.value);
    EXPECT_EQ(x.total, y.total);
    EXPECT_EQ(x.correlation, y.correlation);
    EXPECT_EQ(x.thread, y.thread);
    ASSERT_EQ(x.details == nullptr, y.details == nullptr);
    if (x.details == nullptr) continue;
    ExpectSameText(x.details->shapes, y.details->shapes);
    ExpectSameText(x.details->source, y.details->source);
    EXPECT_EQ(x.details->flops, y.details->flops);
    EXPECT_EQ(x.details->bytes, y.details->bytes);
  }
}

TEST(ProfileFileTest, LoadsBackWhatWasSaved) {
  Recording r = testing::MakeTraining();
  r.dropped = 3;
  r.clock_steps = 2;
  r.roof = {100, 20};
  r.processes[0].boot = "abc";
  r.threads[1].name = "\xff any \"bytes\"";
  const auto loaded = ParseProfile(Bytes(r), "p");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSame(r, *loaded);
  // The strings are the recording's own, also of a copy.
  const Recording copy = *loaded;
  ExpectSame(r, copy);
}

TEST(ProfileFileTest, AnEmptyRecording) {
  const auto loaded = ParseProfile(Bytes(Recording()), "p");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->events.empty());
}

TEST(ProfileFileTest, ManyChunks) {
  Recording r = testing::MakeRecording();
  for (int i = 0; i < 30000; ++i) {
    r.events.push_back(testing::MakeRange("e", "c", 1000 + i, 1001 + i));
  }
  const std::string bytes = Bytes(r);
  EXPECT_LT(bytes.size(), r.events.size() * 16);  // columns are compact
  const auto loaded = ParseProfile(bytes, "p");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSame(r, *loaded);
}

TEST(ProfileFileTest, EveryByteThatIsFlippedIsNoticed) {
  const std::string bytes = Bytes(testing::MakeTraining());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ 1 << bit);
      const auto loaded = ParseProfile(broken, "p");
      EXPECT_FALSE(loaded.ok()) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(ProfileFileTest, EveryTruncationIsNoticed) {
  const std::string bytes = Bytes(testing::MakeTraining());
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(ParseProfile(bytes.substr(0, n), "p").ok()) << n;
  }
  EXPECT_FALSE(ParseProfile(bytes + "x", "p").ok());
}

// With checksums that are right, as an attacker would make them.
uint32_t Word(const std::string& s, size_t at) {
  uint32_t w;
  std::memcpy(&w, s.data() + at, 4);
  return w;
}

uint32_t Crc(std::string_view payload) {
  uint32_t c = 0xFFFFFFFFu;
  for (const char b : payload) {
    c ^= static_cast<unsigned char>(b);
    for (int k = 0; k < 8; ++k)
      c = (c & 1) != 0 ? 0xEDB88320u ^ c >> 1 : c >> 1;
  }
  return ~c;
}

// Makes the checksums of the chunks right, as far as there are chunks.
void Repair(std::string* file) {
  for (size_t at = 12; at + 12 <= file->size();) {
    const size_t length = Word(*file, at + 4);
    if (length > file->size() - at - 12) break;
    const uint32_t right = Crc(std::string_view(*file).substr(at + 12, length));
    std::memcpy(file->data() + at + 8, &right, 4);
    at += 12 + length;
  }
}

// Everything can be looked at and is within its bounds.
void ExpectWhole(const Recording& r) {
  size_t sum = 0;
  for (const Event& e : r.events) {
    sum += std::strlen(e.name) + std::strlen(e.category);
    sum += e.path != nullptr ? std::strlen(e.path) : 0;
    sum += e.details && e.details->shapes ? std::strlen(e.details->shapes) : 0;
    ASSERT_LT(e.thread, r.threads.size());
    ASSERT_LE(e.start_ns, e.end_ns);
  }
  for (const ThreadInfo& t : r.threads)
    ASSERT_LT(t.process, r.processes.size());
  EXPECT_LT(sum, 1u << 20);
}

// One of many ways to damage a file.
void Damage(std::mt19937* random, std::string* file) {
  const auto below = [&](size_t n) {
    return n == 0 ? 0 : static_cast<size_t>((*random)()) % n;
  };
  const size_t at = below(file->size());
  const size_t length = below(std::min<size_t>(40, file->size() - at + 1));
  switch (below(6)) {
    case 0:
      file->erase(at, length);
      break;
    case 1:
      file->insert(at, file->substr(below(file->size()), length));
      break;
    case 2:
      file->insert(at, length, static_cast<char>((*random)()));
      break;
    case 3:  // as long as before
      for (size_t i = at; i < at + length && i < file->size(); ++i) {
        (*file)[i] = static_cast<char>((*random)());
      }
      break;
    case 4:  // a varint that is large
      file->replace(at, std::min<size_t>(length, 9), length, '\xFF');
      break;
    default:
      (*file)[at] = static_cast<char>((*file)[at] ^ (1 << below(8)));
  }
}

TEST(ProfileFileTest, FuzzedFilesDoNoHarm) {
  const std::string bytes = Bytes(testing::MakeTraining());
  std::mt19937 random(7);
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string broken = bytes;
    // The payload of one chunk changes, and its length with it, so that what is
    // behind it stays in place; or anything changes.
    if (i % 2 == 0) {
      size_t at = 12;
      for (size_t skip = random() % 3; skip > 0; --skip) {
        const size_t next = at + 12 + Word(broken, at + 4);
        if (next + 12 > broken.size()) break;
        at = next;
      }
      const size_t length = Word(broken, at + 4);
      std::string payload = broken.substr(at + 12, length);
      for (size_t n = 1 + random() % 4; n > 0 && !payload.empty(); --n) {
        Damage(&random, &payload);
      }
      const auto size = static_cast<uint32_t>(payload.size());
      std::memcpy(broken.data() + at + 4, &size, 4);
      broken.replace(at + 12, length, payload);
    } else {
      for (size_t n = 1 + random() % 4; n > 0 && !broken.empty(); --n) {
        Damage(&random, &broken);
      }
    }
    Repair(&broken);
    const auto loaded = ParseProfile(broken, "p");
    if (!loaded.ok()) continue;
    ++parsed;
    ExpectWhole(*loaded);
    if (HasFatalFailure()) FAIL() << "file " << i;
  }
  EXPECT_GT(parsed, 100);
  EXPECT_LT(parsed, 19000);
}

TEST(ProfileFileTest, MalformedChunksDoNoHarm) {
  const std::string bytes = Bytes(testing::MakeTraining());
  int parsed = 0, refused = 0;
  for (size_t i = 12; i < bytes.size(); ++i) {
    for (const int change : {1, 0x80, 0xFF, 0x55}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ change);
      Repair(&broken);
      const auto loaded = ParseProfile(broken, "p");
      if (!loaded.ok()) {
        ++refused;
        continue;
      }
      ++parsed;
      ExpectWhole(*loaded);
    }
  }
  EXPECT_GT(parsed, 100);
  EXPECT_GT(refused, 100);
}

TEST(ProfileFileTest, SaysWhatIsWrong) {
  const std::string bytes = Bytes(testing::MakeTraining());
  const auto message = [](const std::string& b) {
    const absl::Status s = ParseProfile(b, "a.pb").status();
    return std::string(s.message().data(), s.message().size());
  };
  EXPECT_EQ(message("hello"), "a.pb is no profile");
  std::string newer = bytes;
  newer[8] = 9;
  EXPECT_EQ(message(newer), "a.pb: has format 9; this build reads 1");
  std::string altered = bytes;
  altered[30] = static_cast<char>(altered[30] ^ 1);
  EXPECT_EQ(
      message(altered),
      "a.pb: the checksum of chunk 1 does not match; the file was altered");
  EXPECT_EQ(message(bytes.substr(0, bytes.size() - 1)),
            "a.pb: ends too early, in chunk 3");
  std::string huge = bytes;
  huge[12 + 7] = 0x7F;  // a chunk of 2 GiB
  EXPECT_EQ(message(huge), "a.pb: ends too early, in chunk 1");
}

TEST(ProfileFileTest, Files) {
  const std::string path = ::testing::TempDir() + "/profile.pb";
  ASSERT_TRUE(SaveProfile(testing::MakeTraining(), path).ok());
  const auto loaded = LoadProfile(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSame(testing::MakeTraining(), *loaded);
  EXPECT_EQ(LoadProfile(path + ".none").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadProfile("/").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SaveProfile(testing::MakeTraining(), "/dev/full").code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace proa::inline v0::profiler
