#include "jit/passes/inferred_shapes.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program.h"
#include "jit/text.h"
#include "tensor/generator.h"
#include "tensor/place.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {
namespace {

// Each open dim of a text has a name of its own.
TEST(InferredShapes, SameSizesHaveOneName) {
  const auto program = *ParseText(
      "program {\n"
      "  %0 = input \"x\" : [?, 3] float32\n"
      "  %1 = input \"y\" : [?, 3] float32\n"
      "  %2 = relu(%0) : [?, 3] float32\n"
      "  %3 = transpose(%2, perm=[1, 0]) : [3, ?] float32\n"
      "  %4 = add(%0, %1) : [?, 3] float32\n"
      "  %5 = shape(%0) : [2] int64\n"
      "  %6 = reshape(%4, shape=%5) : [?, ?] float32\n"
      "}\n",
      {});
  EXPECT_NE(program->value(0).meta.shape, program->value(2).meta.shape);
  const std::vector<Shape> s = InferredShapes(*program);
  EXPECT_EQ(s[2], s[0]);
  EXPECT_EQ(s[3], Shape({s[0][1], s[0][0]}));
  EXPECT_NE(s[1], s[0]);
  EXPECT_NE(s[4][0], s[0][0]);  // one of them may be 1
  EXPECT_EQ(s[4][1], 3);
  EXPECT_EQ(s[6], s[0]);
}

// Nothing is computed: no random number is drawn.
TEST(InferredShapes, DrawNothing) {
  const auto program = *ParseText(
      "program {\n"
      "  %0 = input \"x\" : [?] float64\n"
      "  %1 = uniform(shape=[3], dtype=float64, min=0.0, max=1.0, seed=0, "
      "place=None) : [3] float64\n"
      "  %2 = concat([%0, %1], axis=0) : [?] float64\n"
      "}\n",
      {});
  const GeneratorState before = DefaultGenerator(Place{}).state();
  const std::vector<Shape> s = InferredShapes(*program);
  EXPECT_EQ(s[1], Shape({3}));
  EXPECT_EQ(DefaultGenerator(Place{}).state(), before);
}

// What fails, and what a region makes, has the shape that it declares.
TEST(InferredShapes, WhatCannotBeInferred) {
  const auto program = *ParseText(
      "program {\n"
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = input \"y\" : [3] float32\n"
      "  %2 = add(%0, %1) : [?] float32\n"
      "  %3 = relu(%2) : [?] float32\n"
      "}\n",
      {});
  const std::vector<Shape> s = InferredShapes(*program);
  EXPECT_EQ(s[2].rank(), 1);
  EXPECT_TRUE(IsNamed(s[2][0]));
  EXPECT_EQ(s[3], s[2]);
}

}  // namespace
}  // namespace proa::inline v0::jit
