// Regions beside the whole image, for every way of sampling that files have,
// and changed files. python/tests/jpeg_test.py compares with Pillow.
#include "ops/vision/jpeg.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
// After <cstdio>, whose types it uses.
#include "jpeglib.h"

namespace proa::inline v0::ops {
namespace {

struct Kind {
  int height, width, channels;
  // Of the first component, the others having 1 by 1.
  int across, down;
  int quality;
  bool progressive, arithmetic;
  int restart;  // blocks
};

using Bytes = std::vector<uint8_t>;

// Noise over a slope: no two neighbors are alike.
Bytes Picture(const Kind& kind, std::mt19937& random) {
  Bytes pixels;
  for (int y = 0; y < kind.height; ++y)
    for (int x = 0; x < kind.width; ++x)
      for (int c = 0; c < kind.channels; ++c)
        pixels.push_back((3 * x + 5 * y + 70 * c + random() % 64) % 256);
  return pixels;
}

std::string Encoded(const Kind& kind, std::mt19937& random) {
  Bytes pixels = Picture(kind, random);
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = kind.width;
  info.image_height = kind.height;
  info.input_components = kind.channels;
  info.in_color_space = kind.channels == 1   ? JCS_GRAYSCALE
                        : kind.channels == 3 ? JCS_RGB
                                             : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (kind.channels == 4) jpeg_set_colorspace(&info, JCS_YCCK);
  jpeg_set_quality(&info, kind.quality, TRUE);
  for (int i = 0; i < info.num_components; ++i)
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  info.comp_info[0].h_samp_factor = kind.across;
  info.comp_info[0].v_samp_factor = kind.down;
  if (kind.channels == 4) {
    info.comp_info[3].h_samp_factor = kind.across;
    info.comp_info[3].v_samp_factor = kind.down;
  }
  if (kind.progressive) jpeg_simple_progression(&info);
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  info.restart_interval = kind.restart;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row =
        pixels.data() + size_t{info.next_scanline} * kind.width * kind.channels;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}

std::vector<Kind> Kinds() {
  constexpr int kSizes[][2] = {{1, 1}, {9, 7}, {33, 47}, {70, 50}, {17, 121}};
  constexpr int kSampling[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1},
                                  {1, 4}, {4, 2}, {2, 4}, {3, 1}};
  std::vector<Kind> kinds;
  for (const auto& [height, width] : kSizes)
    for (const int channels : {1, 3, 4})
      for (const auto& [across, down] : kSampling)
        for (const int coding : {0, 1, 2, 3}) {
          // A file has at most ten blocks in a unit.
          if (channels == 4 && 2 * across * down > 8) continue;
          kinds.push_back({height, width, channels, across, down,
                           channels == 1 ? 95 : 80, coding % 2 == 1,
                           coding >= 2, coding == 0 ? 3 : 0});
        }
  return kinds;
}

Bytes Decoded(std::string_view file, const JpegRegion& region, bool* doubtful) {
  absl::StatusOr<JpegDecoder> image = JpegDecoder::Open(file);
  EXPECT_TRUE(image.ok()) << image.status();
  Bytes pixels(region.height * region.width * image->channels());
  const absl::Status read = image->Read(region, pixels.data());
  EXPECT_TRUE(read.ok()) << read;
  *doubtful = image->doubtful();
  return pixels;
}

Bytes Part(const Bytes& whole, int64_t width, int64_t channels,
           const JpegRegion& region) {
  Bytes part;
  for (int64_t y = region.top; y < region.top + region.height; ++y) {
    const auto row = whole.begin() + (y * width + region.left) * channels;
    part.insert(part.end(), row, row + region.width * channels);
  }
  return part;
}

// With each edge of the image at times.
JpegRegion AnyRegion(int64_t height, int64_t width, std::mt19937& random) {
  const auto below = [&](int64_t n) -> int64_t { return random() % n; };
  const auto place = [&](int64_t room) {
    const int64_t kind = below(3);
    return kind == 0 ? 0 : kind == 1 ? room : below(room + 1);
  };
  const int64_t h = 1 + below(height), w = 1 + below(width);
  return {place(height - h), place(width - w), h, w};
}

TEST(JpegTest, RegionsAreThoseOfTheWhole) {
  std::mt19937 random(1);
  int regions = 0;
  for (const Kind& kind : Kinds()) {
    const std::string file = Encoded(kind, random);
    bool doubtful = true;
    const Bytes whole =
        Decoded(file, {0, 0, kind.height, kind.width}, &doubtful);
    EXPECT_FALSE(doubtful);
    for (int i = 0; i < 30; ++i, ++regions) {
      const JpegRegion r = AnyRegion(kind.height, kind.width, random);
      ASSERT_EQ(Decoded(file, r, &doubtful),
                Part(whole, kind.width, kind.channels, r))
          << kind.height << " by " << kind.width << ", " << kind.channels
          << " channels, " << kind.across << " by " << kind.down
          << (kind.progressive ? ", progressive" : "")
          << (kind.arithmetic ? ", arithmetic" : "") << "; " << r.top << " "
          << r.left << " " << r.height << " " << r.width;
    }
  }
  EXPECT_GT(regions, 10000);
}

TEST(JpegTest, WhatIsNoImageIsAStatus) {
  std::mt19937 random(2);
  const std::string file =
      Encoded({30, 40, 3, 2, 2, 80, false, false, 0}, random);
  for (size_t n = 0; n < file.size(); n += 7) {
    absl::StatusOr<JpegDecoder> image = JpegDecoder::Open({file.data(), n});
    if (!image.ok()) continue;
    Bytes pixels(30 * 40 * 3);
    const absl::Status read = image->Read({0, 0, 30, 40}, pixels.data());
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << n;
  }
  EXPECT_EQ(JpegDecoder::Open("").status().message(),
            "the file ends too early");
  EXPECT_FALSE(JpegDecoder::Open("\x89PNG, and so on").ok());
}

TEST(JpegTest, RowsBelowTheRegionAreNotRead) {
  std::mt19937 random(3);
  std::string file = Encoded({80, 40, 3, 2, 2, 80, false, false, 0}, random);
  bool doubtful = true;
  const Bytes whole = Decoded(file, {0, 0, 80, 40}, &doubtful);
  file.resize(file.size() / 2);
  const JpegRegion r = {3, 5, 11, 20};
  EXPECT_EQ(Decoded(file, r, &doubtful), Part(whole, 40, 3, r));
}

// A file of two scans, the second of which is repeated.
TEST(JpegTest, FilesOfThousandsOfScansAreRefused) {
  std::mt19937 random(4);
  std::string file = Encoded({16, 16, 1, 1, 1, 80, true, false, 0}, random);
  const size_t last = file.rfind("\xff\xda");
  const std::string scan = file.substr(last, file.size() - 2 - last);
  file.resize(file.size() - 2);
  for (int i = 0; i < 600; ++i) file += scan;
  file += "\xff\xd9";
  absl::StatusOr<JpegDecoder> image = JpegDecoder::Open(file);
  ASSERT_TRUE(image.ok());
  Bytes pixels(256);
  EXPECT_EQ(image->Read({0, 0, 16, 16}, pixels.data()).message(),
            "it has too many scans");
}

void Change(std::string& file, std::mt19937& random) {
  const size_t at = random() % file.size();
  switch (random() % 5) {
    case 0:
      file[at] = static_cast<char>(random());
      break;
    case 1:
      file[at] ^= 1 << random() % 8;
      break;
    case 2:
      file.erase(at, 1 + random() % 4);
      break;
    case 3:
      file.insert(at, 1, static_cast<char>(random() % 2 ? 0xff : random()));
      break;
    default:
      file.replace(at, 2, {'\xff', static_cast<char>(0xc0 + random() % 64)});
  }
  if (file.empty()) file = "\xff";
}

// PROA_MUTANTS in the environment: how many, 10000 unless given. Under the
// address sanitizer pixels end where they should.
TEST(JpegTest, ChangedFilesAreRefusedOrRead) {
  const char* const given = std::getenv("PROA_MUTANTS");
  const int mutants = given != nullptr ? std::atoi(given) : 10000;
  std::mt19937 random(mutants);
  std::vector<std::string> files;
  for (const Kind& kind : Kinds()) files.push_back(Encoded(kind, random));
  int opened = 0, read = 0, sure = 0;
  for (int i = 0; i < mutants; ++i) {
    std::string file = files[random() % files.size()];
    for (int n = 1 + random() % 4; n > 0; --n) Change(file, random);
    absl::StatusOr<JpegDecoder> image = JpegDecoder::Open(file);
    if (!image.ok()) continue;
    ++opened;
    const int64_t height = image->height(), width = image->width();
    if (height * width > 1 << 16) continue;
    const JpegRegion r = AnyRegion(height, width, random);
    Bytes part(r.height * r.width * image->channels());
    const bool part_read = image->Read(r, part.data()).ok();
    read += part_read;
    absl::StatusOr<JpegDecoder> again = JpegDecoder::Open(file);
    Bytes whole(height * width * again->channels());
    if (!again->Read({0, 0, height, width}, whole.data()).ok()) continue;
    // What is not doubted is the same in parts.
    if (again->doubtful()) continue;
    ++sure;
    ASSERT_TRUE(part_read && !image->doubtful());
    ASSERT_EQ(part, Part(whole, width, again->channels(), r)) << "mutant " << i;
  }
  std::printf("%d mutants: %d opened, %d read, %d not doubted\n", mutants,
              opened, read, sure);
  EXPECT_GT(read, mutants / 10);
  EXPECT_GT(sure, mutants / 50);
}

}  // namespace
}  // namespace proa::inline v0::ops
