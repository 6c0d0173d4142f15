#include "ops/optimizer/step.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tensor/error.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::optimizer {
namespace {

Tensor Counting(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = i + 1;
  return t;
}

Tensor RowSparse(const std::vector<int64_t>& rows, const Tensor& values,
                 int64_t height) {
  Tensor r = Tensor::Empty({static_cast<int64_t>(rows.size())}, DType::kInt64);
  std::copy(rows.begin(), rows.end(), r.data<int64_t>());
  return MakeRowSparse(r, values, height);
}

// The gradient that `work` hands out for each element of each parameter, -1
// where it does not come by; the work is cut into pieces of `piece`.
std::vector<std::vector<float>> Visit(const StepWork& work, int64_t piece) {
  std::vector<std::vector<float>> seen;
  for (const Tensor& p : work.params()) seen.emplace_back(p.numel(), -1.f);
  for (int64_t first = 0; first < work.total(); first += piece) {
    const int64_t last = std::min(first + piece, work.total());
    work.ForParts(first, last,
                  [&](size_t i, int64_t begin, int64_t n, const char* g) {
                    for (int64_t j = 0; j < n; ++j) {
                      float& at = seen[i].at(begin + j);
                      EXPECT_EQ(at, -1.f) << "visited twice";
                      at = reinterpret_cast<const float*>(g)[j];
                    }
                  });
  }
  return seen;
}

using Seen = std::vector<std::vector<float>>;

TEST(StepWork, AnyFormInAnyPieces) {
  const std::vector<Tensor> params = {Counting({2}), Counting({0, 3}),
                                      Counting({4, 2}), Counting({}),
                                      Counting({3, 1})};
  const std::vector<Tensor> grads = {Counting({2}), Counting({0, 3}),
                                     RowSparse({3, 1, 3}, Counting({3, 2}), 4),
                                     Counting({}),
                                     RowSparse({}, Counting({0, 1}), 3)};
  const StepWork held("step", params, {grads}, StepRows::kHeld);
  const StepWork all("step", params, {grads}, StepRows::kAll);
  EXPECT_EQ(held.total(), 2 + 0 + 4 + 1 + 0);
  EXPECT_EQ(all.total(), 2 + 0 + 8 + 1 + 3);
  for (int64_t piece = 1; piece <= all.total(); ++piece) {
    EXPECT_EQ(
        Visit(held, piece),
        (Seen{{1, 2}, {}, {-1, -1, 3, 4, -1, -1, 6, 8}, {1}, {-1, -1, -1}}))
        << piece;
    EXPECT_EQ(Visit(all, piece),
              (Seen{{1, 2}, {}, {0, 0, 3, 4, 0, 0, 6, 8}, {1}, {0, 0, 0}}))
        << piece;
  }
}

TEST(StepWork, LongRunsOfZeros) {
  const std::vector<Tensor> params = {Counting({5000, 3})};
  const std::vector<Tensor> grads = {
      RowSparse({4000, 10}, Counting({2, 3}), 5000)};
  const StepWork work("step", params, {grads}, StepRows::kAll);
  const Seen seen = Visit(work, 4097);
  for (int64_t row = 0; row < 5000; ++row) {
    for (int64_t j = 0; j < 3; ++j) {
      const float expected = row == 4000 ? 1 + j : row == 10 ? 4 + j : 0;
      EXPECT_EQ(seen[0][row * 3 + j], expected) << row;
    }
  }
}

TEST(StepWork, Nothing) {
  EXPECT_EQ(StepWork("step", {}, {{}}, StepRows::kAll).total(), 0);
}

TEST(StepWork, RefusesGradientsThatDoNotFit) {
  const std::vector<Tensor> params = {Counting({2})};
  const std::vector<Tensor> other = {RowSparse({}, Counting({0}), 3)};
  EXPECT_THROW(StepWork("step", params, {{}}, StepRows::kAll), Error);
  EXPECT_THROW(StepWork("step", params, {other}, StepRows::kAll), Error);
}

}  // namespace
}  // namespace proa::inline v0::ops::optimizer
