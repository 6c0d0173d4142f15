// Kernel of attention with a cache, compiled once per instruction set. A query
// of a decoder reads each key and value once: it is the reading that takes
// time, and joining them would read and write them once more.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/fused/attention_cached_kernels.h"
#include "ops/linalg/dot_lines.h"
#include "ops/manipulation/join_ops.h"
#include "ops/nn/attention_ops.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/row_loops.h"
#include "ops/nn/softmax_rows.h"
#include "tensor/copy.h"
#include "tensor/interpreters.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// More queries share what they read: products of matrices are faster.
constexpr int64_t kMostQueries = 4;
// Rows of keys that all heads of a thread are done with before the next ones:
// those of a head alone lie far from each other.
constexpr int64_t kRows = 16;

// A part of the keys or values, [N, rows, heads, columns].
struct Part {
  explicit Part(const Tensor& t)
      : data(t.data<float>()),
        rows(t.size(1)),
        columns(t.size(3)),
        sample(t.strides()[0]),
        row(t.strides()[1]),
        head(t.strides()[2]) {}
  const float* At(int64_t b, int64_t r, int64_t h) const {
    return data + b * sample + r * row + h * head;
  }
  const float* data;
  int64_t rows, columns, sample, row, head;
};

// Scores of heads [first, last) of a query against the rows of a part;
// scores[(h - first) * step + r].
void Score(const Part& key, int64_t b, int64_t first, int64_t last,
           const float* query, int64_t query_head, float* scores,
           int64_t step) {
  for (int64_t r = 0; r < key.rows; r += kRows) {
    const int64_t rows = std::min(kRows, key.rows - r);
    for (int64_t h = first; h < last; ++h)
      DotLines(key.At(b, r, h), key.row, query + h * query_head, key.columns,
               rows, scores + (h - first) * step + r, 1);
  }
}

// out += weights times the rows of a part.
void AddWeighted(const Part& value, int64_t b, int64_t first, int64_t last,
                 const float* weights, int64_t step, float* out) {
  for (int64_t r = 0; r < value.rows; r += kRows) {
    const int64_t rows = std::min(kRows, value.rows - r);
    for (int64_t h = first; h < last; ++h)
      AddRows(value.At(b, r, h), value.row, weights + (h - first) * step + r, 1,
              rows, value.columns, out + h * value.columns);
  }
}

// Of scores become weights, as attention does it; `mask` null for none.
void Weigh(const float* mask, int64_t mask_step, float scale, int64_t keys,
           float* row) {
  if (mask == nullptr && scale >= 0)
    return SoftmaxRows(row, 1, keys, scale, row);
  for (int64_t j = 0; j < keys; ++j)
    row[j] = row[j] * scale + (mask == nullptr ? 0.f : mask[j * mask_step]);
  SoftmaxRows(row, 1, keys, 1.f, row);
}

bool LieAlongRows(const Tensor& t) {
  return t.dtype() == DType::kFloat32 &&
         (t.size(3) <= 1 || t.strides()[3] == 1);
}

}  // namespace

void AttentionCached(const KernelContext&, const Tensor& query,
                     const Tensor& past_key, const Tensor& key,
                     const Tensor& past_value, const Tensor& value,
                     const Tensor& mask, double scale, Tensor* out) {
  if (out->numel() == 0) return;
  const int64_t queries = query.size(1), heads = query.size(2);
  const int64_t keys = past_key.size(1) + key.size(1), columns = out->size(3);
  if (queries > kMostQueries || keys == 0 || !LieAlongRows(query) ||
      !LieAlongRows(past_key) || !LieAlongRows(key) ||
      !LieAlongRows(past_value) || !LieAlongRows(value)) {
    const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
    const Tensor all_keys[] = {past_key, key},
                 all_values[] = {past_value, value};
    CopyInto(attention(query, concat(all_keys, 1), concat(all_values, 1), mask,
                       scale),
             *out);
    return;
  }
  const Part key_parts[] = {Part(past_key), Part(key)};
  const Part value_parts[] = {Part(past_value), Part(value)};
  const Tensor added = FloatCopy(mask, DType::kFloat32);
  int64_t mask_strides[4] = {};
  for (int d = 0; added.defined() && d < added.rank(); ++d)
    if (added.size(d) != 1)
      mask_strides[4 - added.rank() + d] = added.strides()[d];
  const Part asked(query);
  constexpr int64_t kWorth = 1 << 14;  // multiply-adds
  const int64_t grain = std::max<int64_t>(
      1, kWorth / std::max<int64_t>(1, keys * (asked.columns + columns)));
  parallel_for(
      0, query.size(0) * queries * heads, grain,
      [&](int64_t begin, int64_t end) {
        std::vector<float> scores(std::min(heads, end - begin) * keys);
        // Some heads of a query at a time.
        for (int64_t at = begin; at < end;) {
          const int64_t line = at / heads, first = at % heads;
          const int64_t last = std::min(heads, first + end - at);
          const int64_t b = line / queries, i = line % queries;
          int64_t done = 0;
          for (const Part& part : key_parts) {
            Score(part, b, first, last, asked.At(b, i, 0), asked.head,
                  scores.data() + done, keys);
            done += part.rows;
          }
          for (int64_t h = first; h < last; ++h)
            Weigh(added.defined()
                      ? added.data<float>() + b * mask_strides[0] +
                            h * mask_strides[1] + i * mask_strides[2]
                      : nullptr,
                  mask_strides[3], static_cast<float>(scale), keys,
                  scores.data() + (h - first) * keys);
          float* const to = out->data<float>() + line * heads * columns;
          std::fill(to + first * columns, to + last * columns, 0.f);
          done = 0;
          for (const Part& part : value_parts) {
            AddWeighted(part, b, first, last, scores.data() + done, keys, to);
            done += part.rows;
          }
          at += last - first;
        }
      });
}

}  // namespace proa::inline v0::ops::PROA_ISA
