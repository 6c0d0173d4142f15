#include "ops/sparse/compressed.h"

#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Starts over the whole batch.
template <typename T>
void ReadStarts(const char* op, const Tensor& crows, int64_t batch,
                int64_t rows, int64_t count, std::vector<int64_t>* starts) {
  const T* from = crows.data<T>();
  int64_t before = 0;
  for (int64_t b = 0; b < batch; ++b, from += rows + 1) {
    PROA_REQUIRE(from[0] == 0, op, ": crows must begin with 0; it is ", from[0],
                 " at [", b * (rows + 1), "]");
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t next = from[r + 1];
      PROA_REQUIRE(next >= from[r] && next <= count - before, op,
                   ": crows must rise to the ", count - before,
                   " elements that there are; it is ", from[r], " at [",
                   b * (rows + 1) + r, "] and ", next, " behind it");
      (*starts)[b * rows + r + 1] = before + next;
    }
    before += from[rows];
  }
  PROA_REQUIRE(before == count, op, ": crows come to ", before,
               " elements; cols has ", count);
}

}  // namespace

Compressed::Compressed(const char* op, const Tensor& crows, const Tensor& cols,
                       const Shape& shape)
    : batch_(shape.rank() == 3 ? shape[0] : 1),
      rows_(shape[shape.rank() - 2]),
      columns_(shape[shape.rank() - 1]),
      cols_(op, cols, columns_, shape.rank() - 1, false),
      starts_(batch_ * rows_ + 1, 0) {
  if (crows.dtype() == DType::kInt32) {
    ReadStarts<int32_t>(op, crows, batch_, rows_, cols_.size(), &starts_);
  } else {
    ReadStarts<int64_t>(op, crows, batch_, rows_, cols_.size(), &starts_);
  }
}

ByColumns::ByColumns(const Compressed& x)
    : starts(x.batch() * x.columns() + 1, 0),
      rows(x.cols().size()),
      numbers(x.cols().size()) {
  const auto from = x.starts();
  const auto cols = x.cols();
  for (int64_t b = 0; b < x.batch(); ++b) {
    for (int64_t e = from[b * x.rows()]; e < from[(b + 1) * x.rows()]; ++e) {
      ++starts[b * x.columns() + cols[e] + 1];
    }
  }
  for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  for (int64_t r = 0; r < x.batch() * x.rows(); ++r) {
    const int64_t first = r / x.rows() * x.columns();
    for (int64_t e = from[r]; e < from[r + 1]; ++e) {
      const int64_t to = next[first + cols[e]]++;
      rows[to] = r % x.rows();
      numbers[to] = e;
    }
  }
}

}  // namespace proa::inline v0::ops::cpu
