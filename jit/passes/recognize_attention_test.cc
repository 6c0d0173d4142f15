#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "jit/pass.h"
#include "jit/passes/pass_for_test.h"
#include "jit/text.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

// Scores of parts of one input, whose open size is theirs.
constexpr char kScores[] =
    "  %0 = input \"qkv\" : [?, 2, 3, 12] float32\n"
    "  %1 = slice(%0, axes=[3], starts=[0], ends=[4], strides=[]) : "
    "[?, 2, 3, 4] float32\n"
    "  %2 = slice(%0, axes=[3], starts=[4], ends=[8], strides=[]) : "
    "[?, 2, 3, 4] float32\n"
    "  %3 = slice(%0, axes=[3], starts=[8], ends=[12], strides=[]) : "
    "[?, 2, 3, 4] float32\n"
    "  %4 = matmul(%1, %2, transpose_x=false, transpose_y=true) : [?, 2, 3, 3] "
    "float32\n";
constexpr char kRest[] =
    "  %5 = softmax(%4, axis=-1) : [?, 2, 3, 3] float32\n"
    "  %6 = matmul(%5, %3, transpose_x=false, transpose_y=false) : "
    "[?, 2, 3, 4] float32\n";

std::string Recognized(const std::string& body, ValueId output) {
  return After("recognize_attention", body, {output});
}

bool IsRecognized(const std::string& body, ValueId output) {
  const std::string text = Recognized(body, output);
  const bool found = text.find(" attention(") != std::string::npos;
  EXPECT_EQ(found, text != body) << text;
  return found;
}

TEST(RecognizeAttention, TakesProductsAndSoftmax) {
  const std::string scores = kScores;
  EXPECT_EQ(
      Recognized(scores + kRest, 6),
      scores.substr(0, scores.find("  %4")) +
          "  %7 = transpose(%1, perm=[0, 2, 1, 3]) : [?, 3, 2, 4] float32\n"
          "  %8 = transpose(%2, perm=[0, 2, 1, 3]) : [?, 3, 2, 4] float32\n"
          "  %9 = transpose(%3, perm=[0, 2, 1, 3]) : [?, 3, 2, 4] float32\n"
          "  %10 = attention(%7, %8, %9, None, scale=1.0) : [?, 3, 2, 4] "
          "float32\n"
          "  %6 = transpose(%10, perm=[0, 2, 1, 3]) : [?, 2, 3, 4] float32\n");
}

// Weights that somebody else reads, or that are an output, stay.
TEST(RecognizeAttention, KeepsWhatIsUsed) {
  const std::string whole = std::string(kScores) + kRest;
  const std::string body = whole + "  %7 = exp(%5) : [?, 2, 3, 3] float32\n";
  EXPECT_EQ(After("recognize_attention", body, {6, 7}), body);
  EXPECT_EQ(After("recognize_attention", whole, {5, 6}), whole);
}

// Products broadcast: open sizes of two inputs may differ, one being 1.
TEST(RecognizeAttention, OpenSizesMustBeTheSameOnes) {
  const auto of = [](const std::string& q, const std::string& k,
                     const std::string& v) {
    return "  %0 = input \"q\" : [" + q + ", 2, 3, 4] float32\n  %1 = input " +
           "\"k\" : [" + k + ", 2, 5, 4] float32\n  %2 = input \"v\" : [" + v +
           ", 2, 5, 4] float32\n"
           "  %3 = matmul(%0, %1, transpose_x=false, transpose_y=true) : "
           "[?, 2, 3, 5] float32\n"
           "  %4 = softmax(%3, axis=-1) : [?, 2, 3, 5] float32\n"
           "  %5 = matmul(%4, %2, transpose_x=false, transpose_y=false) : "
           "[?, 2, 3, 4] float32\n";
  };
  EXPECT_FALSE(IsRecognized(of("?", "?", "?"), 5));
  EXPECT_FALSE(IsRecognized(of("?", "7", "7"), 5));
  EXPECT_FALSE(IsRecognized(of("7", "1", "7"), 5));
}

// Heads that a program of PaddlePaddle or ONNX makes by sizes that it asks for.
TEST(RecognizeAttention, SizesThatAreAskedFor) {
  const std::string heads =
      "  %0 = input \"x\" : [?, ?, 8] float32\n"
      "  %1 = captured \"heads\" : [2] int64\n"
      "  %2 = shape(%0) : [3] int64\n"
      "  %3 = slice(%2, axes=[0], starts=[0], ends=[2], strides=[]) : [2] "
      "int64\n"
      "  %4 = concat([%3, %1], axis=0) : [4] int64\n"
      "  %5 = reshape(%0, shape=%4) : [?, ?, ?, ?] float32\n"
      "  %6 = transpose(%5, perm=[0, 2, 1, 3]) : [?, ?, ?, ?] float32\n"
      "  %7 = tanh(%0) : [?, ?, 8] float32\n"
      "  %8 = reshape(%7, shape=%4) : [?, ?, ?, ?] float32\n"
      "  %9 = transpose(%8, perm=[0, 2, 1, 3]) : [?, ?, ?, ?] float32\n"
      "  %10 = matmul(%6, %9, transpose_x=false, transpose_y=true) : "
      "[?, ?, ?, ?] float32\n"
      "  %11 = softmax(%10, axis=-1) : [?, ?, ?, ?] float32\n"
      "  %12 = matmul(%11, %9, transpose_x=false, transpose_y=false) : "
      "[?, ?, ?, ?] float32\n"
      "  %13 = add(%12, %9) : [?, ?, ?, ?] float32\n";
  Tensor sizes = Tensor::Empty({2}, DType::kInt64);
  sizes.data<int64_t>()[0] = 2;
  sizes.data<int64_t>()[1] = 4;
  const std::vector<Tensor> captured = {sizes};
  const auto parsed = ParseText("program {\n" + heads + "}\n", captured);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string_view names[] = {"recognize_attention"};
  const ValueId outputs[] = {13};
  EXPECT_TRUE(RunPasses(*parsed, outputs, names));
  EXPECT_NE(ToText(**parsed).find(" attention("), std::string::npos);
}

TEST(RecognizeAttention, MasksFit) {
  const auto with = [](const std::string& mask) {
    return std::string(kScores) + "  %5 = input \"m\" : " + mask +
           " float32\n  %6 = add(%4, %5) : [?, 2, 3, 3] float32\n"
           "  %7 = softmax(%6, axis=-1) : [?, 2, 3, 3] float32\n"
           "  %8 = matmul(%7, %3, transpose_x=false, transpose_y=false) : "
           "[?, 2, 3, 4] float32\n";
  };
  for (const char* fits : {"[?, 1, 1, 3]", "[3, 3]", "[1, 2, 3, 3]", "[]"}) {
    const std::string body = with(fits);
    EXPECT_NE(Recognized(body, 8).find(" attention("), std::string::npos)
        << fits;
  }
  for (const char* larger : {"[5, 1, 1, 3]", "[1, ?, 2, 3, 3]", "[?, ?]"}) {
    const std::string body = with(larger);
    EXPECT_EQ(Recognized(body, 8).find(" attention("), std::string::npos)
        << larger;
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
