#include "ops/onednn/flip_pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/onednn/reorder.h"

namespace proa::inline v0::onednn {
namespace {

using dnnl::memory;
using tag = memory::format_tag;
using type = memory::data_type;

// A plain weight [groups, out, in, taps...] whose channels are exchanged, as
// input gradients read it; without the first dim if there is one group.
memory::desc Exchanged(int64_t groups, int64_t out, int64_t in,
                       const memory::dims& kernel, type dtype) {
  memory::dims dims{groups, out, in};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  memory::dims strides(dims.size(), 1);
  for (size_t d = dims.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * dims[d];
  std::swap(dims[1], dims[2]);
  std::swap(strides[1], strides[2]);
  if (groups == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return {dims, dtype, strides};
}

struct Case {
  int64_t groups, out, in;
  memory::dims kernel;
  tag to;
};

// Element by element, in two passes.
std::vector<uint8_t> Expected(const memory::desc& from,
                              const std::vector<uint8_t>& source, int64_t flip,
                              const memory::desc& to) {
  const size_t item = memory::data_type_size(from.data_type());
  std::vector<uint8_t> turned(source.size());
  for (size_t i = 0; i < source.size() / item; ++i) {
    const size_t run = i / flip * flip;
    std::memcpy(&turned[(run + flip - 1 - (i - run)) * item], &source[i * item],
                item);
  }
  std::vector<uint8_t> out(to.get_size(), 0x55);
  Reorder(from, turned.data(), to, out.data());
  return out;
}

void Compare(const Case& c, type dtype) {
  const memory::desc from = Exchanged(c.groups, c.out, c.in, c.kernel, dtype);
  const memory::desc to(from.dims(), dtype, c.to);
  int64_t flip = 1;
  for (const int64_t k : c.kernel) flip *= k;
  // Small integers are exact in each type, and no two neighbours are alike.
  const int64_t n = c.groups * c.out * c.in * flip;
  std::vector<uint8_t> source(n * memory::data_type_size(dtype));
  for (int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>(i % 251 + 1);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const uint16_t high = static_cast<uint16_t>(bits >> 16);
    if (dtype == type::f32) {
      std::memcpy(&source[4 * i], &bits, 4);
    } else {
      std::memcpy(&source[2 * i], &high, 2);
    }
  }
  std::vector<uint8_t> found(to.get_size(), 0xaa);
  ASSERT_TRUE(FlipAndPack(from, source.data(), flip, to, found.data()));
  EXPECT_EQ(found, Expected(from, source, flip, to));
}

TEST(FlipPackTest, WritesWhatAReorderOfTheFlippedWeightDoes) {
  const std::vector<Case> cases = {
      {1, 64, 48, {3, 3}, tag::OIhw16i16o},
      {1, 64, 32, {3, 3}, tag::OIhw16o16i},
      {1, 16, 6, {5, 5}, tag::OIhw16i16o},  // channels are padded
      {1, 17, 33, {3, 3}, tag::OIhw8i8o},
      {1, 1, 1, {3, 3}, tag::OIhw16i16o},
      {1, 40, 24, {3, 2}, tag::OIhw4i16o4i},  // blocks of blocks
      {1, 16, 5, {2, 3}, tag::Ohwi16o},       // of one of the dims
      {1, 32, 16, {1, 3}, tag::OIhw16i16o},
      {1, 32, 16, {3, 1}, tag::OIhw16i16o},
      {1, 20, 30, {5}, tag::OIw16i16o},
      {1, 18, 20, {2, 3, 2}, tag::OIdhw16i16o},
      {3, 16, 24, {3, 3}, tag::gOIhw16i16o},
      {2, 20, 3, {3}, tag::gOIw16i16o},
      {20, 1, 1, {3, 3}, tag::Goihw16g},  // depthwise
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases.data());
    Compare(c, type::f32);
  }
}

TEST(FlipPackTest, TwoBytesInPairs) {
  const std::vector<Case> cases = {
      {1, 32, 48, {3, 3}, tag::OIhw8i16o2i},
      {1, 33, 17, {3, 3}, tag::OIhw8i16o2i},
      {2, 16, 32, {3, 2}, tag::gOIhw8i16o2i},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases.data());
    Compare(c, type::bf16);
  }
}

TEST(FlipPackTest, RefusesOtherFormats) {
  const auto refuses = [](const memory::desc& from, int64_t flip,
                          const memory::desc& to) {
    const std::vector<uint8_t> source(from.get_size());
    std::vector<uint8_t> target(to.get_size(), 0x55);
    EXPECT_FALSE(FlipAndPack(from, source.data(), flip, to, target.data()));
    // Nothing was written.
    EXPECT_EQ(std::count(target.begin(), target.end(), 0x55),
              static_cast<int64_t>(target.size()));
  };
  const memory::desc plain = Exchanged(1, 16, 16, {3, 3}, type::f32);
  const memory::dims dims = plain.dims();
  refuses(plain, 9, {dims, type::f32, tag::oihw});
  refuses(plain, 9, {dims, type::bf16, tag::OIhw16i16o});
  refuses({dims, type::f32, tag::OIhw16i16o}, 9,
          {dims, type::f32, tag::OIhw16o16i});
  // Taps that are not one behind the other.
  refuses({dims, type::f32, tag::hwio}, 9, {dims, type::f32, tag::OIhw16i16o});
  // Blocks of groups.
  refuses(Exchanged(16, 2, 3, {3, 3}, type::f32), 9,
          {{16, 3, 2, 3, 3}, type::f32, tag::Goihw16g});
}

}  // namespace
}  // namespace proa::inline v0::onednn
