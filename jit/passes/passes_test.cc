// Each pass on small programs, before and after as text.
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "jit/pass.h"
#include "jit/passes/pass_for_test.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

TEST(Passes, AreRegistered) {
  for (const std::string_view name : DefaultPasses()) {
    EXPECT_NE(FindPass(name), nullptr) << name;
  }
  EXPECT_GE(AllPasses().size(), 6u);
  EXPECT_EQ(FindPass("nothing"), nullptr);
  const auto program = std::make_shared<Program>();
  const std::string_view names[] = {"nothing"};
  EXPECT_THROW(RunPasses(program, {}, names), Error);
}

// Every pass leaves a program alone in which it has nothing to do.
TEST(Passes, ChangeNothingWithoutReason) {
  const std::string body =
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n";
  for (const Pass& pass : AllPasses()) {
    EXPECT_EQ(After(pass.name, body, {1}), body) << pass.name;
  }
}

TEST(DeadCode, KeepsOutputsAndChanges) {
  const std::string head =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = input \"x\" : [4] float32\n";
  EXPECT_EQ(After("dead_code",
                  head + "  %2 = exp(%1) : [4] float32\n"
                         "  %3 = log(%2) : [4] float32\n"
                         "  %4 = sin(%2) : [4] float32\n"
                         "  %5 = cos(%1) : [4] float32\n"
                         "  store_(%0, %5)\n",
                  {4}, 1),
            head +
                "  %2 = exp(%1) : [4] float32\n"
                "  %4 = sin(%2) : [4] float32\n"
                "  %5 = cos(%1) : [4] float32\n"
                "  store_(%0, %5)\n");
}

TEST(DeadCode, LooksIntoRegions) {
  const std::string head =
      "  %0 = input \"p\" : [] bool\n"
      "  %1 = input \"x\" : [4] float32\n";
  EXPECT_EQ(After("dead_code",
                  head + "  (%4) = cond(%0) {\n"
                         "    %2 = exp(%1) : [4] float32\n"
                         "    %3 = log(%1) : [4] float32\n"
                         "    return %2\n"
                         "  } {\n"
                         "    return %1\n"
                         "  } : [4] float32\n",
                  {4}),
            head +
                "  (%4) = cond(%0) {\n"
                "    %2 = exp(%1) : [4] float32\n"
                "    return %2\n"
                "  } {\n"
                "    return %1\n"
                "  } : [4] float32\n");
}

TEST(Identities, UseTheOperand) {
  const std::string head =
      "  %0 = input \"x\" : [2, 3] float32\n"
      "  %1 = exp(%0) : [2, 3] float32\n";
  EXPECT_EQ(
      After("identities",
            head + "  %2, %3 = dropout(%1, p=0.5, training=false, "
                   "mode=\"upscale_in_train\") : [2, 3] float32, [2, 3] bool\n"
                   "  %4 = cast(%2, dtype=float32) : [2, 3] float32\n"
                   "  %5 = reshape(%4, shape=[2, 3]) : [2, 3] float32\n"
                   "  %6 = reshape(%5, shape=[3, 2]) : [3, 2] float32\n",
            {6}),
      head + "  %6 = reshape(%1, shape=[3, 2]) : [3, 2] float32\n");
}

TEST(WithoutChecks, UsesWhatWasChecked) {
  const std::string head = "  %0 = input \"x\" : [2] float32\n";
  const std::string check =
      "  %1 = isfinite(%0) : [2] bool\n"
      "  %2 = require(%0, %1, message=\"f: not finite\", [%0]) : [2] float32\n";
  const std::string last = "  %3 = exp(%2) : [2] float32\n";
  EXPECT_EQ(After("without_checks", head + check + last, {3}),
            head + check + "  %3 = exp(%0) : [2] float32\n");
  // An output keeps its number, and so its check.
  EXPECT_EQ(After("without_checks", head + check, {2}), head + check);
  EXPECT_EQ(After("dead_code", head + check + last, {3}), head + check + last);
}

TEST(Identities, KeepWhatIsNone) {
  for (const std::string& body : std::vector<std::string>{
           // Draws; scales.
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=true, "
           "mode=\"upscale_in_train\") : [2] float32, [2] bool\n"
           "  %3 = exp(%1) : [2] float32\n",
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=false, "
           "mode=\"downscale_in_infer\") : [2] float32, [2] bool\n"
           "  %3 = exp(%1) : [2] float32\n",
           // The mask is used.
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=false, "
           "mode=\"upscale_in_train\") : [2] float32, [2] bool\n"
           "  %3 = where(%2, %1, %0) : [2] float32\n",
           // The copy would be a view of what the caller owns.
           "  %0 = input \"x\" : [2] float32\n"
           "  %1, %2 = dropout(%0, p=0.5, training=false, "
           "mode=\"upscale_in_train\") : [2] float32, [2] bool\n"
           "  %3 = reshape(%1, shape=[1, 2]) : [1, 2] float32\n"}) {
    EXPECT_EQ(After("identities", body, {3}), body);
  }
}

TEST(Identities, SeeChanges) {
  const std::string body =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1, %2 = dropout(%0, p=0.5, training=false, "
      "mode=\"upscale_in_train\") : [4] float32, [4] bool\n"
      "  %3 = exp(%0) : [4] float32\n"
      "  store_(%0, %3)\n"
      "  %4 = exp(%1) : [4] float32\n";
  EXPECT_EQ(After("identities", body, {4}, 1), body);
}

TEST(CommonSubexpressions, AreMadeOnce) {
  const std::string head =
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n";
  EXPECT_EQ(After("common_subexpressions",
                  head + "  %2 = exp(%0) : [2] float32\n"
                         "  %3 = sin(%1) : [2] float32\n"
                         "  %4 = sin(%2) : [2] float32\n"
                         "  %5 = add(%3, %4) : [2] float32\n",
                  {5}),
            head +
                "  %3 = sin(%1) : [2] float32\n"
                "  %5 = add(%3, %3) : [2] float32\n");
}

TEST(CommonSubexpressions, KeepDrawsAndWhatChanges) {
  for (const std::string& body : std::vector<std::string>{
           "  %0 = uniform(shape=[2], dtype=float32, min=0.0, max=1.0, "
           "seed=0, place=None) : [2] float32\n"
           "  %1 = uniform(shape=[2], dtype=float32, min=0.0, max=1.0, "
           "seed=0, place=None) : [2] float32\n"
           "  %2 = add(%0, %1) : [2] float32\n"}) {
    EXPECT_EQ(After("common_subexpressions", body, {2}), body);
  }
  const std::string changed =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = exp(%0) : [4] float32\n"
      "  store_(%0, %1)\n"
      "  %2 = exp(%0) : [4] float32\n"
      "  %3 = add(%1, %2) : [4] float32\n";
  EXPECT_EQ(After("common_subexpressions", changed, {3}, 1), changed);
}

TEST(ConstantFolding, OfAttributes) {
  EXPECT_EQ(After("constant_folding",
                  "  %0 = input \"x\" : [2] float32\n"
                  "  %1 = full(shape=[2], value=2.0, dtype=float32, "
                  "place=None) : [2] float32\n"
                  "  %2 = exp(%1) : [2] float32\n"
                  "  %3 = add(%0, %2) : [2] float32\n",
                  {3}),
            "  %0 = input \"x\" : [2] float32\n"
            "  %4 = captured \"\" : [2] float32\n"
            "  %3 = add(%0, %4) : [2] float32\n");
}

TEST(ConstantFolding, NotOfOutputsOrLargeOnes) {
  for (const std::string& body : std::vector<std::string>{
           "  %0 = full(shape=[2], value=2.0, dtype=float32, place=None) : "
           "[2] float32\n",
           "  %1 = full(shape=[20000], value=2.0, dtype=float32, place=None) "
           ": [20000] float32\n"
           "  %0 = exp(%1) : [20000] float32\n"}) {
    const size_t values = body.find("%1") == std::string::npos ? 1 : 2;
    const auto parsed = ParseText("program {\n" + body + "}\n", {});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const std::string before = ToText(**parsed);
    const std::string_view names[] = {"constant_folding"};
    const ValueId outputs[] = {static_cast<ValueId>(values - 1)};
    EXPECT_FALSE(RunPasses(*parsed, outputs, names));
    EXPECT_EQ(ToText(**parsed), before);
  }
}

// %0..%3 are mean, variance, weight and bias of a normalization.
constexpr char kNorm[] =
    "  %0 = captured \"m\" : [4] float32\n"
    "  %1 = captured \"v\" : [4] float32\n"
    "  %2 = captured \"w\" : [4] float32\n"
    "  %3 = captured \"b\" : [4] float32\n"
    "  %4 = input \"x\" : [?, 4, 8, 8] float32\n";

std::string WithNorm(const std::string& rest) { return kNorm + rest; }

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

TEST(FoldParameters, WhatStaysAsItIs) {
  const std::string head =
      "  %0 = captured \"a\" : [4] float32\n"
      "  %1 = captured \"b\" : [4] float32\n"
      "  %2 = input \"x\" : [4] float32\n";
  // exp(a) + a is made once; what depends on b, which is changed, is not, nor
  // what goes out.
  EXPECT_EQ(After("fold_parameters",
                  head + "  %3 = exp(%0) : [4] float32\n"
                         "  %4 = add(%3, %0) : [4] float32\n"
                         "  %5 = multiply(%2, %4) : [4] float32\n"
                         "  %6 = exp(%1) : [4] float32\n"
                         "  store_(%1, %5)\n"
                         "  %7 = add(%6, %5) : [4] float32\n"
                         "  %8 = log(%0) : [4] float32\n",
                  {7, 8}, 2),
            head +
                "  %9 = captured \"\" : [4] float32\n"
                "  %5 = multiply(%2, %9) : [4] float32\n"
                "  %6 = exp(%1) : [4] float32\n"
                "  store_(%1, %5)\n"
                "  %7 = add(%6, %5) : [4] float32\n"
                "  %8 = log(%0) : [4] float32\n");
  // No parameter becomes much larger.
  const std::string body =
      "  %0 = captured \"a\" : [4] float32\n"
      "  %1 = input \"x\" : [400000] float32\n"
      "  %2 = tile(%0, repeat_times=[100000]) : [400000] float32\n"
      "  %3 = add(%2, %1) : [400000] float32\n";
  EXPECT_EQ(After("fold_parameters", body, {3}, 1), body);
}

TEST(TestMode, AsTheSchemasSay) {
  EXPECT_EQ(
      After("test_mode",
            WithNorm(
                "  %5, %6, %7, %8, %9 = batch_norm(%4, %0, %1, %2, %3, "
                "momentum=0.9, epsilon=1e-05, data_format=\"NCHW\") : [?, 4, "
                "8, 8] float32, [4] float32, [4] float32, [4] float32, [4] "
                "float32\n"
                "  store_(%0, %6)\n"
                "  store_(%1, %7)\n"
                "  %10, %11 = dropout(%5, p=0.5, training=true, "
                "mode=\"upscale_in_train\") : [?, 4, 8, 8] float32, [?, 4, 8, "
                "8] bool\n"
                "  %12 = exp(%8) : [4] float32\n"),
            {10}, 4),
      WithNorm("  %5 = batch_norm_inference(%4, %0, %1, %2, %3, "
               "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] float32\n"
               "  %10, %11 = dropout(%5, p=0.5, training=false, "
               "mode=\"upscale_in_train\") : [?, 4, 8, 8] float32, [?, 4, 8, "
               "8] bool\n"));
}

TEST(TestMode, RefusesOutputsOfTraining) {
  const std::string body = WithNorm(
      "  %5, %6, %7, %8, %9 = batch_norm(%4, %0, %1, %2, %3, momentum=0.9, "
      "epsilon=1e-05, data_format=\"NCHW\") : [?, 4, 8, 8] float32, [4] "
      "float32, [4] float32, [4] float32, [4] float32\n"
      "  %10 = exp(%8) : [4] float32\n");
  try {
    After("test_mode", body, {10}, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("batch_norm: saved_mean"),
              std::string::npos)
        << e.what();
  }
}

TEST(PassDebugging, VerifiesAndDumps) {
  const PassRegistration broken(
      {"zz_broken", "Leaves a use without its maker.", [](Rewriter& r) {
         r.ForEachOperation([&](Operation& o) {
           if (std::string_view(o.op->name) == "exp") r.Erase(o);
         });
       }});
  const auto parsed = ParseText(
      "program {\n"
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n"
      "  %2 = sin(%1) : [2] float32\n"
      "}\n",
      {});
  ASSERT_TRUE(parsed.ok());
  std::string dumped;
  PassDebugging debugging;
  debugging.verify = true;
  debugging.dump = [&](const char* pass, const std::string& before,
                       const std::string& after) {
    dumped = std::string(pass) + before + after;
  };
  SetPassDebugging(debugging);
  const std::string_view names[] = {"zz_broken"};
  const ValueId outputs[] = {2};
  EXPECT_THROW(RunPasses(*parsed, outputs, names), Error);
  SetPassDebugging({});
  EXPECT_EQ(dumped.substr(0, 9), "zz_broken");
}

TEST(FusePointwise, ChainsOfLargeTensorsAreOneOperation) {
  EXPECT_EQ(After("fuse_pointwise",
                  "  %0 = input \"x\" : [2000, 1000] float32\n"
                  "  %1 = input \"b\" : [1000] float32\n"
                  "  %2 = add(%0, %1) : [2000, 1000] float32\n"
                  "  %3 = sum(%0, axis=[1], dtype=None, keepdim=true) : [2000, "
                  "1] float32\n"
                  "  %4 = tanh(%2) : [2000, 1000] float32\n"
                  "  %5 = divide(%4, %3) : [2000, 1000] float32\n",
                  {4, 5}),
            "  %0 = input \"x\" : [2000, 1000] float32\n"
            "  %1 = input \"b\" : [1000] float32\n"
            "  %3 = sum(%0, axis=[1], dtype=None, keepdim=true) : [2000, 1] "
            "float32\n"
            "  (%4, %5) = pointwise([%0, %1, %3]) {\n"
            "    %6 = argument : [2000, 1000] float32\n"
            "    %7 = argument : [1000] float32\n"
            "    %10 = argument : [2000, 1] float32\n"
            "    %8 = add(%6, %7) : [2000, 1000] float32\n"
            "    %9 = tanh(%8) : [2000, 1000] float32\n"
            "    %11 = divide(%9, %10) : [2000, 1000] float32\n"
            "    return %9, %11\n"
            "  } : [2000, 1000] float32, [2000, 1000] float32\n");
}

// Each open size of a program as text has a name of its own, as in one from a
// file.
TEST(FusePointwise, OpenSizesAreLookedAtWhenTheProgramRuns) {
  EXPECT_EQ(After("fuse_pointwise",
                  "  %0 = input \"x\" : [?, 64] float32\n"
                  "  %1 = input \"y\" : [?, 64] float32\n"
                  "  %2 = add(%0, %1) : [?, 64] float32\n"
                  "  %3 = relu(%2) : [?, 64] float32\n",
                  {3}),
            "  %0 = input \"x\" : [?, 64] float32\n"
            "  %1 = input \"y\" : [?, 64] float32\n"
            "  (%3) = pointwise([%0, %1]) {\n"
            "    %4 = argument : [?, 64] float32\n"
            "    %5 = argument : [?, 64] float32\n"
            "    %6 = add(%4, %5) : [?, 64] float32\n"
            "    %7 = relu(%6) : [?, 64] float32\n"
            "    return %7\n"
            "  } : [?, 64] float32\n");
  // %2 may be one row where %3 has many.
  const std::string of_two_shapes =
      "  %0 = input \"x\" : [?, 64] float32\n"
      "  %1 = input \"y\" : [?, 64] float32\n"
      "  %2 = relu(%0) : [?, 64] float32\n"
      "  %3 = add(%2, %1) : [?, 64] float32\n";
  EXPECT_EQ(After("fuse_pointwise", of_two_shapes, {2, 3}), of_two_shapes);
}

TEST(FusePointwise, LeavesWhatGainsNothingOrMustKeepItsOrder) {
  for (const char* body :
       {// Small.
        "  %0 = input \"x\" : [500, 500] float32\n"
        "  %1 = exp(%0) : [500, 500] float32\n"
        "  %2 = tanh(%1) : [500, 500] float32\n",
        "  %0 = input \"x\" : [20, 10] float32\n"
        "  %1 = exp(%0) : [20, 10] float32\n"
        "  %2 = tanh(%1) : [20, 10] float32\n",
        // Not linked.
        "  %0 = input \"x\" : [2000, 1000] float32\n"
        "  %1 = exp(%0) : [2000, 1000] float32\n"
        "  %2 = tanh(%0) : [2000, 1000] float32\n",
        // Of two shapes.
        "  %0 = input \"x\" : [2000, 1000] float32\n"
        "  %1 = input \"y\" : [3, 2000, 1000] float32\n"
        "  %2 = exp(%0) : [2000, 1000] float32\n"
        "  %3 = add(%2, %1) : [3, 2000, 1000] float32\n",
        // Used in between.
        "  %0 = input \"x\" : [2000, 1000] float32\n"
        "  %1 = exp(%0) : [2000, 1000] float32\n"
        "  %2 = sum(%1, axis=[1], dtype=None, keepdim=true) : [2000, 1] "
        "float32\n"
        "  %3 = divide(%1, %2) : [2000, 1000] float32\n"}) {
    EXPECT_EQ(After("fuse_pointwise", body, {1, 2}), body);
  }
  const std::string changed =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = input \"x\" : [2000000, 4] float32\n"
      "  %2 = add(%1, %0) : [2000000, 4] float32\n"
      "  %3 = exp(%0) : [4] float32\n"
      "  store_(%0, %3)\n"
      "  %4 = tanh(%2) : [2000000, 4] float32\n";
  EXPECT_EQ(After("fuse_pointwise", changed, {4}, 1), changed);
}

}  // namespace
}  // namespace proa::inline v0::jit
