#include "ops/onednn/block_pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/onednn/reorder.h"

namespace proa::inline v0::onednn {
namespace {

using dnnl::memory;
using tag = memory::format_tag;
using type = memory::data_type;

// A plain weight [rows, columns, taps...], or its dims the other way round in
// memory.
memory::desc Plain(int64_t rows, int64_t columns, const memory::dims& kernel,
                   bool exchanged) {
  memory::dims dims{rows, columns};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  memory::dims strides(dims.size(), 1);
  for (size_t d = dims.size() - 1; d > 2; --d)
    strides[d - 1] = strides[d] * dims[d];
  const int64_t taps = strides[2] * dims[2];
  strides[0] = exchanged ? taps : taps * columns;
  strides[1] = exchanged ? taps * rows : taps;
  return {dims, type::f32, strides};
}

struct Case {
  int64_t rows, columns;
  memory::dims kernel;
  tag to;
};

// In two passes.
std::vector<float> Expected(const memory::desc& from,
                            const std::vector<float>& source, int64_t flip,
                            const memory::desc& to) {
  std::vector<float> turned = source;
  for (auto at = turned.begin(); at != turned.end(); at += flip)
    std::reverse(at, at + flip);
  std::vector<float> out(to.get_size() / sizeof(float), -1);
  Reorder(from, turned.data(), to, out.data());
  return out;
}

TEST(BlockPackTest, WritesWhatAReorderDoes) {
  const std::vector<Case> cases = {
      {64, 32, {1, 1}, tag::Acdb64a},     {96, 40, {1, 1}, tag::Acdb48a},
      {100, 33, {1, 1}, tag::Acdb48a},    {16, 1, {1, 1}, tag::Acdb16a},
      {7, 5, {1, 1}, tag::Acdb16a},       {64, 300, {3, 3}, tag::Acdb32a},
      {33, 17, {3, 3}, tag::Acdb16a},     {1, 1, {3, 3}, tag::Acdb16a},
      {70, 9, {5, 5}, tag::Acdb64a},      {20, 24, {2, 3}, tag::Acdb16a},
      {24, 20, {4, 2}, tag::Acdb16a},     {40, 30, {7}, tag::Acb16a},
      {40, 30, {2, 2, 3}, tag::Acdeb16a}, {40, 30, {3, 3}, tag::Abcd16a},
  };
  for (const Case& c : cases) {
    for (const bool exchanged : {false, true}) {
      const memory::desc from = Plain(c.rows, c.columns, c.kernel, exchanged);
      const memory::desc to(from.dims(), type::f32, c.to);
      std::vector<float> source(from.get_size() / sizeof(float));
      for (size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<float>(i + 1);
      int64_t taps = 1;
      for (const int64_t k : c.kernel) taps *= k;
      for (const int64_t flip : {int64_t{1}, taps}) {
        SCOPED_TRACE(testing::Message()
                     << "case " << &c - cases.data() << ", exchanged "
                     << exchanged << ", flip " << flip);
        std::vector<float> found(to.get_size() / sizeof(float), -2);
        ASSERT_TRUE(PackInBlocks(from, source.data(), flip, to, found.data()));
        EXPECT_EQ(found, Expected(from, source, flip, to));
      }
    }
  }
}

TEST(BlockPackTest, RefusesOtherFormats) {
  const auto refuses = [](const memory::desc& from, int64_t flip,
                          const memory::desc& to) {
    const std::vector<char> source(from.get_size());
    std::vector<char> target(to.get_size(), 0x55);
    EXPECT_FALSE(PackInBlocks(from, source.data(), flip, to, target.data()));
    // Nothing was written.
    EXPECT_EQ(std::count(target.begin(), target.end(), 0x55),
              static_cast<int64_t>(target.size()));
  };
  const memory::desc plain = Plain(32, 16, {3, 3}, false);
  const memory::dims dims = plain.dims();
  refuses(plain, 1, {dims, type::f32, tag::abcd});
  refuses(plain, 1, {dims, type::f32, tag::ABcd16b16a});
  refuses(plain, 1, {dims, type::f32, tag::aBcd16b});
  refuses(plain, 3, {dims, type::f32, tag::Acdb16a});
  refuses(plain, 1, {dims, type::bf16, tag::Acdb16a});
  refuses({dims, type::f32, tag::Acdb16a}, 1, {dims, type::f32, tag::Acdb32a});
  // Taps that are not one behind the other.
  refuses({dims, type::f32, tag::cdba}, 1, {dims, type::f32, tag::Acdb16a});
}

}  // namespace
}  // namespace proa::inline v0::onednn
