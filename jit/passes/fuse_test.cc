// Passes that make one operation of several that follow each other, and that
// fold normalizations into weights.
#include <string>

#include "gtest/gtest.h"
#include "jit/passes/pass_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(FuseNorm, Inference) {
  EXPECT_EQ(
      After("fuse_norm",
            WithNorm("  %5 = batch_norm_inference(%4, %0, %1, %2, %3, "
                     "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] "
                     "float32\n"
                     "  %6 = relu(%5) : [?, 4, 8, 8] float32\n"),
            {6}, 4),
      WithNorm("  %6 = batch_norm_relu_inference(%4, %0, %1, %2, %3, "
               "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] "
               "float32\n"));
}

TEST(FuseNorm, NotWhereTheMiddleIsUsed) {
  const std::string body = WithNorm(
      "  %5 = batch_norm_inference(%4, %0, %1, %2, %3, "
      "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] float32\n"
      "  %6 = relu(%5) : [?, 4, 8, 8] float32\n");
  EXPECT_EQ(After("fuse_norm", body, {5, 6}, 4), body);
  const std::string used = body + "  %7 = exp(%5) : [?, 4, 8, 8] float32\n";
  EXPECT_EQ(After("fuse_norm", used, {6, 7}, 4), used);
}

// The residual is made after the normalization, whose statistics are stored at
// once: the updates move behind what is put in.
TEST(FuseNorm, TrainingWithResidual) {
  EXPECT_EQ(
      After("fuse_norm",
            WithNorm(
                "  %5, %6, %7, %8, %9 = batch_norm(%4, %0, %1, %2, %3, "
                "momentum=0.9, epsilon=1e-05, data_format=\"NCHW\") : [?, 4, "
                "8, 8] float32, [4] float32, [4] float32, [4] float32, [4] "
                "float32\n"
                "  store_(%0, %6)\n"
                "  store_(%1, %7)\n"
                "  %10 = exp(%4) : [?, 4, 8, 8] float32\n"
                "  %11 = add(%10, %5) : [?, 4, 8, 8] float32\n"
                "  %12 = relu(%11) : [?, 4, 8, 8] float32\n"),
            {12}, 4),
      WithNorm("  %10 = exp(%4) : [?, 4, 8, 8] float32\n"
               "  %12, %6, %7, %8, %9 = batch_norm_add_relu(%4, %10, %0, %1, "
               "%2, %3, momentum=0.9, epsilon=1e-05, data_format=\"NCHW\") : "
               "[?, 4, 8, 8] float32, [4] float32, [4] float32, [4] float32, "
               "[4] float32\n"
               "  store_(%0, %6)\n"
               "  store_(%1, %7)\n"));
}

// Who reads the statistics in between must see them updated.
TEST(FuseNorm, NotOverAReaderOfTheStatistics) {
  const std::string body = WithNorm(
      "  %5, %6, %7, %8, %9 = batch_norm(%4, %0, %1, %2, %3, momentum=0.9, "
      "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] float32, [4] "
      "float32, [4] float32, [4] float32, [4] float32\n"
      "  store_(%0, %6)\n"
      "  %10 = batch_norm_inference(%4, %0, %1, %2, %3, epsilon=1e-05, "
      "data_format=\"NCHW\") : [?, 4, 8, 8] float32\n"
      "  %11 = exp(%10) : [?, 4, 8, 8] float32\n"
      "  %12 = add(%11, %5) : [?, 4, 8, 8] float32\n"
      "  %13 = relu(%12) : [?, 4, 8, 8] float32\n");
  EXPECT_EQ(After("fuse_norm", body, {13}, 4), body);
}

TEST(PoolBeforeRelu, SeesTheMaximaAlone) {
  const std::string head = "  %0 = input \"x\" : [?, 4, 8, 8] float32\n";
  const auto pool = [](int to, int from, const std::string& ceil_mode) {
    return "  %" + std::to_string(to) + " = max_pool2d(%" +
           std::to_string(from) +
           ", kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], ceil_mode=" +
           ceil_mode +
           ", data_format=\"NCHW\", padding_algorithm=\"EXPLICIT\") : [?, 4, "
           "4, 4] float32\n";
  };
  const std::string body =
      head + "  %1 = relu(%0) : [?, 4, 8, 8] float32\n" + pool(2, 1, "false");
  EXPECT_EQ(
      After("pool_before_relu", body, {2}),
      head + pool(3, 0, "false") + "  %2 = relu(%3) : [?, 4, 4, 4] float32\n");
  // Others use what relu gives; or windows may be empty.
  EXPECT_EQ(After("pool_before_relu", body, {1, 2}), body);
  const std::string with_ceil =
      head + "  %1 = relu(%0) : [?, 4, 8, 8] float32\n" + pool(2, 1, "true");
  EXPECT_EQ(After("pool_before_relu", with_ceil, {2}), with_ceil);
}

TEST(FuseActivation, WithResidualAndAttributes) {
  const std::string head =
      "  %0 = input \"x\" : [2, 3, 8, 8] float32\n"
      "  %1 = input \"k\" : [4, 3, 3, 3] float32\n"
      "  %2 = input \"b\" : [4] float32\n"
      "  %3 = input \"r\" : [2, 4, 6, 6] float32\n"
      "  %4 = input \"one\" : [4, 1, 1] float32\n";
  const std::string conv =
      "  %5 = conv2d(%0, %1, %2, stride=[1, 1], padding=[0, 0], dilation=[1, "
      "1], groups=1, data_format=\"NCHW\", padding_algorithm=\"EXPLICIT\") : "
      "[2, 4, 6, 6] float32\n";
  const std::string tail =
      ", stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, "
      "data_format=\"NCHW\", padding_algorithm=\"EXPLICIT\") : [2, 4, 6, 6] "
      "float32\n";
  EXPECT_EQ(After("fuse_activation",
                  head + conv +
                      "  %6 = add(%3, %5) : [2, 4, 6, 6] float32\n"
                      "  %7 = leaky_relu(%6, negative_slope=0.25) : [2, 4, 6, "
                      "6] float32\n",
                  {7}),
            head +
                "  %7 = conv2d_activation(%0, %1, %2, %3, None, "
                "activation=\"leaky_relu\", alpha=0.25, beta=0.0" +
                tail);
  EXPECT_EQ(
      After("fuse_activation",
            head + conv + "  %6 = hardswish(%5) : [2, 4, 6, 6] float32\n", {6}),
      head +
          "  %6 = conv2d_activation(%0, %1, %2, None, None, "
          "activation=\"hardswish\", alpha=0.0, beta=0.0" +
          tail);
  EXPECT_EQ(
      After("fuse_activation",
            head + conv + "  %6 = add(%5, %3) : [2, 4, 6, 6] float32\n", {6}),
      head +
          "  %6 = conv2d_activation(%0, %1, %2, %3, None, "
          "activation=\"none\", alpha=0.0, beta=0.0" +
          tail);
  // The first operand is used by others, the second is not.
  EXPECT_EQ(After("fuse_activation",
                  head + conv +
                      "  %6 = add(%3, %5) : [2, 4, 6, 6] float32\n"
                      "  %7 = exp(%3) : [2, 4, 6, 6] float32\n",
                  {6, 7}),
            head +
                "  %6 = conv2d_activation(%0, %1, %2, %3, None, "
                "activation=\"none\", alpha=0.0, beta=0.0" +
                tail + "  %7 = exp(%3) : [2, 4, 6, 6] float32\n");
  // What is added has another shape, or the convolution is used by others.
  const std::string broadcast =
      head + conv + "  %6 = add(%5, %4) : [2, 4, 6, 6] float32\n";
  EXPECT_EQ(After("fuse_activation", broadcast, {6}), broadcast);
  const std::string used =
      head + conv + "  %6 = relu(%5) : [2, 4, 6, 6] float32\n";
  EXPECT_EQ(After("fuse_activation", used, {5, 6}), used);
}

TEST(FuseActivation, LinearLayerAdditionAndActivation) {
  const std::string head =
      "  %0 = input \"x\" : [2, 4] float32\n"
      "  %1 = input \"k\" : [4, 6] float32\n"
      "  %2 = input \"b\" : [6] float32\n"
      "  %3 = input \"r\" : [2, 6] float32\n";
  const std::string linear = "  %4 = linear(%0, %1, %2) : [2, 6] float32\n";
  EXPECT_EQ(After("fuse_activation",
                  head + linear +
                      "  %5 = add(%3, %4) : [2, 6] float32\n"
                      "  %6 = gelu(%5, approximate=true) : [2, 6] float32\n",
                  {6}),
            head +
                "  %6 = linear_activation(%0, %1, %2, %3, "
                "activation=\"gelu_tanh\", alpha=0.0, beta=0.0) : [2, 6] "
                "float32\n");
  EXPECT_EQ(After("fuse_activation",
                  head + linear + "  %5 = relu(%4) : [2, 6] float32\n", {5}),
            head +
                "  %5 = linear_activation(%0, %1, %2, None, "
                "activation=\"relu\", alpha=0.0, beta=0.0) : [2, 6] "
                "float32\n");
  EXPECT_EQ(After("fuse_activation",
                  head + linear + "  %5 = add(%4, %3) : [2, 6] float32\n", {5}),
            head +
                "  %5 = linear_activation(%0, %1, %2, %3, "
                "activation=\"none\", alpha=0.0, beta=0.0) : [2, 6] "
                "float32\n");
  // The product is a result of the program, too.
  const std::string used = head + linear + "  %5 = relu(%4) : [2, 6] float32\n";
  EXPECT_EQ(After("fuse_activation", used, {4, 5}), used);
}

// Of two open sizes one may be 1 when the program runs, and is repeated then.
TEST(FuseActivation, OfOpenSizesThoseThatAreTheSame) {
  const std::string head =
      "  %0 = input \"x\" : [?, 4, ?, ?] float32\n"
      "  %1 = input \"k\" : [4, 4, 3, 3] float32\n"
      "  %2 = input \"i\" : [4, 4, 1, 1] float32\n"
      "  %3 = input \"r\" : [?, 4, ?, ?] float32\n";
  const std::string around =
      "padding=[1, 1], dilation=[1, 1], groups=1, data_format=\"NCHW\", "
      "padding_algorithm=\"EXPLICIT\") : [?, 4, ?, ?] float32\n";
  const std::string within =
      "padding=[0, 0], dilation=[1, 1], groups=1, data_format=\"NCHW\", "
      "padding_algorithm=\"EXPLICIT\") : [?, 4, ?, ?] float32\n";
  const std::string half =
      "  %4 = conv2d(%0, %1, None, stride=[2, 2], " + around;
  const auto fused = [](const char* number, const char* x, const char* added,
                        const char* stride) {
    return std::string("  %") + number + " = conv2d_activation(%" + x +
           ", %1, None, %" + added +
           ", None, activation=\"none\", alpha=0.0, beta=0.0, stride=[" +
           stride + "], ";
  };
  const std::string other =
      head + half + "  %5 = add(%4, %3) : [?, 4, ?, ?] float32\n";
  EXPECT_EQ(After("fuse_activation", other, {5}), other);
  const std::string image =
      head + half + "  %5 = add(%4, %0) : [?, 4, ?, ?] float32\n";
  EXPECT_EQ(After("fuse_activation", image, {5}), image);
  // What the same windows make of one image.
  EXPECT_EQ(After("fuse_activation",
                  head + "  %4 = conv2d(%0, %1, None, stride=[1, 1], " +
                      around + "  %5 = add(%4, %0) : [?, 4, ?, ?] float32\n",
                  {5}),
            head + fused("5", "0", "0", "1, 1") + around);
  const std::string one =
      "  %5 = conv2d(%0, %2, None, stride=[2, 2], " + within;
  EXPECT_EQ(
      After("fuse_activation",
            head + half + one + "  %6 = add(%4, %5) : [?, 4, ?, ?] float32\n",
            {6, 5}),
      head + one + fused("6", "0", "5", "2, 2") + around);
}

TEST(FuseNorm, NotWhereAnAdditionMayRepeat) {
  const std::string body = WithNorm(
      "  %5 = input \"r\" : [?, 4, 8, 8] float32\n"
      "  %6 = batch_norm_inference(%4, %0, %1, %2, %3, epsilon=1e-05, "
      "data_format=\"NCHW\") : [?, 4, 8, 8] float32\n"
      "  %7 = add(%6, %5) : [?, 4, 8, 8] float32\n"
      "  %8 = relu(%7) : [?, 4, 8, 8] float32\n");
  EXPECT_EQ(After("fuse_norm", body, {8}, 4), body);
}

TEST(FoldNorm, IntoTheConvolutionBefore) {
  const std::string head =
      WithNorm("  %5 = input \"k\" : [4, 4, 1, 1] float32\n");
  const std::string attributes =
      "stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, "
      "data_format=\"NCHW\", padding_algorithm=\"EXPLICIT\") : [?, 4, 8, 8] "
      "float32\n";
  EXPECT_EQ(
      After("fold_norm",
            head + "  %6 = conv2d(%4, %5, None, " + attributes +
                "  %7 = batch_norm_inference(%6, %0, %1, %2, %3, "
                "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] "
                "float32\n",
            {7}, 4),
      head +
          "  %8, %9 = fold_batch_norm(%5, %0, %1, None, %2, %3, "
          "epsilon=1e-05, channel_dim=0, groups=1) : [4, 4, 1, 1] float32, "
          "[4] float32\n"
          "  %7 = conv2d(%4, %8, %9, " +
          attributes);
}

}  // namespace
}  // namespace proa::inline v0::jit
