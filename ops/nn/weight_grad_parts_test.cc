#include "ops/nn/weight_grad_parts.h"

#include <vector>

#include "gtest/gtest.h"

namespace proa::ops {
namespace {

ConvGeometry Geometry(int64_t batch, int64_t in, int64_t out, int64_t size,
                      int64_t kernel, int64_t stride, int64_t pad) {
  const Shape x{batch, in, size, size}, w{out, in, kernel, kernel};
  const int64_t strides[] = {stride}, pads[] = {pad}, one[] = {1};
  return GeometryOf("test", x, w,
                    {{strides, pads, one, "EXPLICIT"}, 1, "NCHW"});
}

// Each image, row and channel is in exactly one part of each kind.
TEST(WeightGradParts, CoverAll) {
  const int64_t sizes[] = {1, 3, 7, 14, 56, 224}, some[] = {1, 2, 5, 32};
  for (int64_t size : sizes) {
    for (int64_t batch : some) {
      for (int64_t channels : {1, 16, 63, 64, 65, 200, 512}) {
        const ConvGeometry g = Geometry(batch, 8, channels, size, 3, 1, 1);
        for (const auto way : {WeightGradParts::Way::kConvolution,
                               WeightGradParts::Way::kProduct,
                               WeightGradParts::Way::kChannelwise}) {
          const WeightGradParts parts(g, way);
          std::vector<int> seen(static_cast<size_t>(batch * size * channels));
          for (int64_t k = 0; k < parts.count(); ++k) {
            const WeightGradPart p = parts[k];
            EXPECT_GT(p.images.size(), 0);
            EXPECT_GT(p.rows.size(), 0);
            EXPECT_GT(p.channels.size(), 0);
            EXPECT_TRUE(p.images.size() == 1 || p.rows.size() == size);
            for (int64_t n = p.images.begin; n < p.images.end; ++n)
              for (int64_t r = p.rows.begin; r < p.rows.end; ++r)
                for (int64_t c = p.channels.begin; c < p.channels.end; ++c)
                  ++seen[static_cast<size_t>((n * size + r) * channels + c)];
          }
          for (int count : seen) ASSERT_EQ(count, 1);
        }
      }
    }
  }
}

TEST(CachedParts, CoverAllPixelsOrAreNone) {
  int64_t divided = 0;
  for (const int64_t size : {1, 7, 56, 112}) {
    for (const int64_t batch : {1, 3, 40}) {
      for (const int64_t stride : {1, 2}) {
        const ConvGeometry g = Geometry(batch, 8, 256, size, 3, stride, 1);
        const int64_t rows = g.out[0];
        const auto parts = CachedParts(g, 4);
        EXPECT_EQ(parts.empty(), g.OutputShape().numel() * 4 < (1 << 20));
        std::vector<int> seen(static_cast<size_t>(batch * rows));
        for (const WeightGradPart& p : parts) {
          EXPECT_TRUE(p.images.size() == 1 || p.rows.size() == rows);
          EXPECT_EQ(p.channels.size(), g.out_channels);
          for (int64_t n = p.images.begin; n < p.images.end; ++n)
            for (int64_t r = p.rows.begin; r < p.rows.end; ++r)
              ++seen[static_cast<size_t>(n * rows + r)];
        }
        for (int count : seen) ASSERT_EQ(count, parts.empty() ? 0 : 1);
        divided += static_cast<int64_t>(parts.size());
      }
    }
  }
  EXPECT_GT(divided, 0);
  // A large weight would be read by each part.
  EXPECT_TRUE(CachedParts(Geometry(8, 512, 512, 56, 3, 1, 1), 4).empty());
}

TEST(ChannelParts, CoverAllByWholeVectorsOrAreNone) {
  int64_t divided = 0;
  for (int64_t channels = 16; channels <= 2048; channels += 16) {
    for (const int64_t size : {2, 7, 14, 56}) {
      const ConvGeometry g = Geometry(1, 256, channels, size, 3, 1, 1);
      const auto parts = ChannelParts(g);
      int64_t next = 0;
      for (const WeightGradPart& p : parts) {
        EXPECT_EQ(p.images.size(), 1);
        EXPECT_EQ(p.rows.size(), size);
        EXPECT_EQ(p.channels.begin, next);
        EXPECT_EQ(p.channels.size(), parts[0].channels.size());
        EXPECT_EQ(p.channels.size() % 16, 0);
        EXPECT_GE(p.channels.size(), 32);
        next = p.channels.end;
      }
      EXPECT_EQ(next, parts.empty() ? 0 : channels);
      divided += static_cast<int64_t>(!parts.empty());
    }
  }
  EXPECT_GT(divided, 100);
  EXPECT_EQ(ChannelParts(Geometry(1, 512, 512, 7, 3, 1, 1)).size(), 8u);
  // Images that are larger than the weight.
  EXPECT_TRUE(ChannelParts(Geometry(1, 64, 64, 56, 3, 1, 1)).empty());
  EXPECT_TRUE(ChannelParts(Geometry(64, 512, 512, 14, 3, 1, 1)).empty());
}

TEST(WeightGradParts, LittleWorkIsOnePart) {
  EXPECT_EQ(WeightGradParts(Geometry(1, 3, 8, 16, 3, 1, 1)).count(), 1);
}

// 3.6 times the work that is worth a part.
TEST(WeightGradParts, AreSharedEvenly) {
  const ConvGeometry g = Geometry(64, 1, 6, 28, 5, 1, 2);
  EXPECT_EQ(WeightGradParts(g).count(), 4);
  EXPECT_EQ(PixelParts(g, /*rows=*/true).size(), 4u);
}

TEST(WeightGradParts, ChannelsComeBeforePixels) {
  const WeightGradParts parts(Geometry(8, 512, 1024, 7, 3, 1, 1));
  EXPECT_EQ(parts.count(), 16);
  EXPECT_EQ(parts.sums(), 1);
}

TEST(WeightGradParts, PixelsComeFirstInAProduct) {
  // One column of all pixels, as the products take them.
  ConvGeometry g = Geometry(1, 512, 1024, 1, 1, 1, 0);
  g.in[0] = g.out[0] = 1568;
  EXPECT_EQ(WeightGradParts(g, WeightGradParts::Way::kProduct).sums(), 8);
  EXPECT_EQ(WeightGradParts(g, WeightGradParts::Way::kProduct).count(), 16);
  g.in[0] = g.out[0] = 100;
  EXPECT_EQ(WeightGradParts(g, WeightGradParts::Way::kProduct).sums(), 1);
  EXPECT_EQ(WeightGradParts(g, WeightGradParts::Way::kProduct).count(), 16);
}

// What a part sees of the rows is what its outputs see in the whole.
TEST(WeightGradParts, GeometryOfRows) {
  const ConvGeometry g = Geometry(1, 3, 64, 224, 7, 2, 3);
  const WeightGradParts parts(g);
  EXPECT_GT(parts.sums(), 1);
  for (int64_t k = 0; k < parts.count(); ++k) {
    const WeightGradPart part = parts[k];
    int64_t first = -1;
    const ConvGeometry p = GeometryOfPart(g, part, &first);
    const int64_t top = part.rows.begin * 2 - 3;
    EXPECT_EQ(first - p.window.pad_before[0], top);
    EXPECT_EQ(p.in[0] + p.window.pad_before[0] + p.window.pad_after[0],
              (part.rows.size() - 1) * 2 + 7);
    EXPECT_LE(first + p.in[0], 224);
    EXPECT_EQ(p.out[0], part.rows.size());
  }
}

TEST(SeesPaddingOnly, OfOnePixel) {
  const ConvGeometry g = Geometry(1, 8, 8, 1, 3, 2, 1);
  EXPECT_TRUE(SeesPaddingOnly(g, 0, 0));
  EXPECT_FALSE(SeesPaddingOnly(g, 0, 1));
  EXPECT_TRUE(SeesPaddingOnly(g, 0, 2));
}

TEST(SeesPaddingOnly, TheMiddleTapOfAWideStride) {
  // Outputs 0 and 1 see positions {-2, -1, 0} and {0, 1, 2} of one pixel.
  const ConvGeometry g = Geometry(1, 1, 1, 1, 3, 2, 2);
  ASSERT_EQ(g.out[0], 2);
  EXPECT_FALSE(SeesPaddingOnly(g, 0, 0));
  EXPECT_TRUE(SeesPaddingOnly(g, 0, 1));
  EXPECT_FALSE(SeesPaddingOnly(g, 0, 2));
}

}  // namespace
}  // namespace proa::ops
