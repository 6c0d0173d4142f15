#include "inference/sequences.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {
namespace {

TEST(Sequences, LengthsAreFoundByTheirNames) {
  const std::vector<std::string> names = {"words", "words@LENGTHS1", "tags",
                                          "words@LENGTHS0", "tags@LENGTHS1"};
  const std::vector<Lengths> found = FindLengths(names, {"tags", "words"});
  // Levels of "tags" do not begin with 0: those are no lengths.
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at, 3u);
  EXPECT_EQ(found[0].of, 1u);
  EXPECT_EQ(found[0].level, 0u);
  EXPECT_EQ(found[1].at, 1u);
  EXPECT_EQ(found[1].of, 1u);
  EXPECT_EQ(found[1].level, 1u);
  EXPECT_TRUE(FindLengths({}, {"words"}).empty());
  EXPECT_TRUE(FindLengths(names, {}).empty());
}

TEST(Sequences, EndsAndLengthsAreTheSame) {
  for (const std::vector<size_t>& ends :
       {std::vector<size_t>{0}, {0, 2, 5}, {0, 0, 0}, {0, 3, 3, 10}}) {
    const proa::Tensor lengths = LengthsOfEnds(ends);
    ASSERT_EQ(lengths.dtype(), DType::kInt64);
    ASSERT_EQ(lengths.shape(), Shape({static_cast<int64_t>(ends.size()) - 1}));
    EXPECT_EQ(EndsOfLengths(lengths), ends);
  }
  const proa::Tensor lengths = LengthsOfEnds({0, 2, 5});
  EXPECT_EQ(lengths.data<int64_t>()[0], 2);
  EXPECT_EQ(lengths.data<int64_t>()[1], 3);
}

TEST(Sequences, EndsRiseFromZero) {
  EXPECT_THROW(LengthsOfEnds({}), Error);
  EXPECT_THROW(LengthsOfEnds({1, 2}), Error);
  EXPECT_THROW(LengthsOfEnds({0, 5, 3}), Error);
}

}  // namespace
}  // namespace proa::inline v0::inference
