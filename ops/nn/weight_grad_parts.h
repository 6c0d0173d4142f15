// How the weight gradient of a convolution is divided into parts that threads
// compute apart: by sizes alone, so that its bits are the same for any number
// of threads.
//
// Channels of the output share nothing, so they are divided first. Pixels are
// divided as far as the parts of the channels do not suffice: each part of them
// gives a whole gradient, and these are added up. Of a product of matrices
// pixels come first: each part of the channels would read all of the other
// matrix again, and oneDNN is slow at narrow columns of wide matrices.
//
// Also parts of the pixels or of the channels alone, for results in which each
// element stands by itself.
#ifndef PROA_OPS_NN_WEIGHT_GRAD_PARTS_H_
#define PROA_OPS_NN_WEIGHT_GRAD_PARTS_H_

#include <cstdint>
#include <vector>

#include "ops/nn/conv_geometry.h"

namespace proa::inline v0::ops {

struct PartRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

struct WeightGradPart {
  PartRange images;  // of the batch
  // Of the output, along the first spatial dim; all of them unless it is one
  // image.
  PartRange rows;
  PartRange channels;  // of the output
};

class WeightGradParts {
 public:
  // How it is computed.
  enum class Way {
    kConvolution,
    kProduct,      // of matrices
    kChannelwise,  // each channel by itself: a depthwise one
  };
  explicit WeightGradParts(const ConvGeometry& g, Way way = Way::kConvolution);

  // Parts of the pixels, each of which gives a whole gradient.
  int64_t sums() const { return image_parts_ * row_parts_; }
  int64_t count() const { return sums() * channel_parts_; }
  // Part k is of sum k / (count / sums).
  int64_t sum_of(int64_t k) const { return k / channel_parts_; }
  WeightGradPart operator[](int64_t k) const;

 private:
  int64_t images_, rows_, channels_;
  int64_t image_parts_ = 1, row_parts_ = 1, channel_parts_ = 1;
};

// All of it.
WeightGradPart WholeOf(const ConvGeometry& g);

// Parts of the pixels alone, for what gives each pixel a result of its own:
// whole images, and rows of one if there are few and `rows` says so.
std::vector<WeightGradPart> PixelParts(const ConvGeometry& g, bool rows);

// Parts of the output's channels, all of one size and of whole vectors, where
// parts of the pixels would each read a weight that is larger than the images.
// None where that is not so, or channels cannot be divided like that.
std::vector<WeightGradPart> ChannelParts(const ConvGeometry& g);

// Parts of the pixels for what changes each part's result again: it should not
// leave the second cache of a thread in between. None where that gains nothing:
// the whole result is small, or each part would read a large weight anew.
// `item` is the size of an element.
std::vector<WeightGradPart> CachedParts(const ConvGeometry& g, int64_t item);

// The convolution that `part` of `g` is by itself. Its input begins with row
// *first_row of the images; if it has none, the part sees padding only.
ConvGeometry GeometryOfPart(const ConvGeometry& g, const WeightGradPart& part,
                            int64_t* first_row);

// The places of the output along dim d whose tap `q` lies in the input.
PartRange InsideOfTap(const ConvGeometry& g, int d, int64_t q);

// True if tap `q` of the kernel along dim d sees padding only.
bool SeesPaddingOnly(const ConvGeometry& g, int d, int64_t q);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_WEIGHT_GRAD_PARTS_H_
