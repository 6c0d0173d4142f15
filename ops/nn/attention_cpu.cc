// Kernels of attention, compiled once per instruction set. Scores of some
// queries and all keys are computed for all heads of a sample at a time, by
// products over the batch of heads; so many queries that the scores stay in the
// cache. How the work is divided depends on shapes only.
#include <algorithm>
#include <type_traits>

#include "ops/linalg/gemm.h"
#include "ops/nn/attention_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/row_loops.h"
#include "ops/onednn/threads.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Elements of a block of scores.
constexpr int64_t kBlock = 1 << 18;

struct Sizes {
  Sizes(const Tensor& query, const Tensor& value)
      : n(query.size(0)),
        queries(query.size(1)),
        keys(value.size(1)),
        heads(query.size(2)),
        d(query.size(3)),
        e(value.size(3)),
        block(std::clamp<int64_t>(kBlock / std::max<int64_t>(1, heads * keys),
                                  1, std::max<int64_t>(1, queries))) {}
  int64_t n, queries, keys, heads, d, e;
  int64_t block;  // queries at a time
};

// The rows from `first` on of sample `b` of a tensor [N, rows, heads, columns],
// as a matrix for each head.
GemmOperand Heads(const Tensor& t, int64_t b, int64_t first = 0,
                  bool transposed = false) {
  const Strides& s = t.strides();
  GemmOperand m;
  m.data = static_cast<const char*>(t.raw_data()) +
           (b * s[0] + first * s[1]) * ItemSize(t.dtype());
  m.row_stride = transposed ? s[3] : s[1];
  m.column_stride = transposed ? s[1] : s[3];
  m.batch_strides = {s[2]};
  return m;
}

// A dense [heads, rows, columns].
GemmOperand Dense(const Tensor& t, int64_t rows, int64_t columns,
                  bool transposed = false) {
  GemmOperand m;
  m.data = t.raw_data();
  m.row_stride = transposed ? 1 : columns;
  m.column_stride = transposed ? columns : 1;
  m.batch_strides = {rows * columns};
  return m;
}

// Rows of a product that one task computes.
constexpr int64_t kRowsOfTask = 128;

// to [heads, m, n] = a b, of operands of `dtype`; `to` is of that type or
// float32. Each task is a product of its own on one thread: whole ones are
// divided along k by the number of threads on some machines, and their bits
// with them.
void Product(DType dtype, int64_t heads, int64_t m, int64_t n, int64_t k,
             const GemmOperand& a, const GemmOperand& b, const Tensor& to) {
  const int64_t item = ItemSize(dtype), item_of_to = ItemSize(to.dtype());
  const int64_t tasks = (m + kRowsOfTask - 1) / kRowsOfTask;
  const auto head_of = [&](const GemmOperand& x, int64_t head, int64_t row) {
    GemmOperand part = x;
    part.data = static_cast<const char*>(x.data) +
                (head * x.batch_strides[0] + row * x.row_stride) * item;
    part.batch_strides.clear();
    return part;
  };
  const int64_t work = std::max<int64_t>(1, std::min(m, kRowsOfTask) * n * k);
  parallel_for(0, heads * tasks, std::max<int64_t>(1, (1 << 16) / work),
               [&](int64_t begin, int64_t end) {
                 const onednn::SerialScope serial;
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t head = t / tasks,
                                 row = t % tasks * kRowsOfTask;
                   GemmProblem p;
                   p.dtype = dtype;
                   p.float_result = to.dtype() != dtype;
                   p.m = std::min(kRowsOfTask, m - row);
                   p.n = n;
                   p.k = k;
                   p.a = head_of(a, head, row);
                   p.b = head_of(b, head, 0);
                   p.c = to.data<char>() + (head * m + row) * n * item_of_to;
                   Gemm(p);
                 }
               });
}

// What is added to the scores of a row: element j of query i at
// data + ... + i * query + j * key.
template <typename A>
class Mask {
 public:
  explicit Mask(const Tensor& mask) : dense_(FloatCopy(mask, kDTypeOf<A>)) {
    if (!dense_.defined()) return;
    for (int d = 0; d < dense_.rank(); ++d)
      if (dense_.size(d) != 1)
        strides_[4 - dense_.rank() + d] = dense_.strides()[d];
  }
  bool defined() const { return dense_.defined(); }
  void AddTo(int64_t b, int64_t head, int64_t query, int64_t keys,
             A* row) const {
    if (!dense_.defined()) return;
    const A* m = dense_.data<A>() + b * strides_[0] + head * strides_[1] +
                 query * strides_[2];
    if (strides_[3] == 0) {
      for (int64_t j = 0; j < keys; ++j) row[j] += *m;
    } else {
      for (int64_t j = 0; j < keys; ++j) row[j] += m[j];
    }
  }

 private:
  Tensor dense_;
  int64_t strides_[4] = {};
};

// Scores of a query become weights.
template <typename A>
void Weigh(const Mask<A>& mask, A scale, int64_t b, int64_t head, int64_t query,
           int64_t keys, A* row) {
  if (!mask.defined() && scale >= 0) return SoftmaxRow(row, keys, scale, row);
  for (int64_t j = 0; j < keys; ++j) row[j] *= scale;
  mask.AddTo(b, head, query, keys, row);
  SoftmaxRow(row, keys, A(1), row);
}

// Calls f(head, i, row, other) for the rows of dense [heads, rows, keys]
// tensors of A, and rounds both to those of C, which are the same tensors where
// C is A.
template <typename C, typename F>
void ForEachScoreRow(int64_t heads, int64_t rows, int64_t keys, const Tensor& x,
                     const Tensor& y, const Tensor& rounded_x,
                     const Tensor& rounded_y, F&& f) {
  using A = typename Accumulate<C>::type;
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, keys));
  parallel_for(0, heads * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      A* const px = x.data<A>() + r * keys;
      A* const py = y.defined() ? y.data<A>() + r * keys : nullptr;
      f(r / rows, r % rows, px, py);
      if constexpr (!std::is_same_v<C, A>) {
        Narrow(px, keys, rounded_x.data<C>() + r * keys);
        if (py != nullptr) Narrow(py, keys, rounded_y.data<C>() + r * keys);
      }
    }
  });
}

// Rows from `first` on of sample `b` of a row-major [N, rows, heads, columns]
// of T from a dense [heads, count, columns] of A, times `factor`, or that much
// more.
template <typename T, typename A>
void StoreAs(const Tensor& from, int64_t count, double factor, bool more,
             const Tensor& to, int64_t b, int64_t first) {
  const int64_t heads = to.size(2), columns = to.size(3);
  const A by = static_cast<A>(factor);
  const int64_t grain = std::max<int64_t>(1, 16384 / (heads * columns + 1));
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t h = 0; h < heads; ++h) {
        const A* source = from.data<A>() + (h * count + i) * columns;
        T* target =
            to.data<T>() + ((b * to.size(1) + first + i) * heads + h) * columns;
        for (int64_t c = 0; c < columns; ++c) {
          const A v = source[c] * by;
          target[c] = T(more ? static_cast<A>(target[c]) + v : v);
        }
      }
    }
  });
}

// The same, into a tensor of C or of what C is summed in.
template <typename C>
void Store(const Tensor& from, int64_t count, double factor, bool more,
           const Tensor& to, int64_t b, int64_t first) {
  using A = typename Accumulate<C>::type;
  if (to.dtype() == kDTypeOf<A>)
    StoreAs<A, A>(from, count, factor, more, to, b, first);
  else
    StoreAs<C, A>(from, count, factor, more, to, b, first);
}

// Calls f(begin, end) for samples: for some on each thread where there are
// enough for all to be busy, else for all, which divides each. The bits are the
// same.
template <typename F>
void ForSamples(const Sizes& s, F&& f) {
  constexpr int64_t kWorth = 1 << 16;  // multiply-adds
  const int64_t work = s.heads * s.queries * s.keys * (s.d + s.e);
  if (s.n < 4 * int64_t{GetNumThreads()}) return f(int64_t{0}, s.n);
  parallel_for(0, s.n,
               std::max<int64_t>(1, kWorth / std::max<int64_t>(1, work)), f);
}

// Whether samples of T are computed from copies in float32: where products of T
// would make such copies themselves, of scores too. One of each operand is made
// then, and scores and sums over blocks of queries are not rounded.
template <typename T>
bool ComputesWide() {
  return std::is_same_v<T, bfloat16> && !MultipliesBFloat16();
}
template <typename T>
constexpr bool kIsAlwaysWide = std::is_same_v<T, float16>;

// Sample b of [N, ...], as a batch of one.
Tensor SampleOf(const Tensor& t, int64_t b) {
  const Strides& strides = t.strides();
  return t.AsStrided({1, t.size(1), t.size(2), t.size(3)}, strides,
                     b * strides[0]);
}

// A tensor of the shape of a sample.
Tensor EmptySample(const Tensor& t, DType dtype) {
  return Tensor::Empty({1, t.size(1), t.size(2), t.size(3)}, dtype);
}

// What all samples have in common.
template <typename A>
struct Rules {
  Mask<A> mask;
  A scale;
};

// A dense tensor of C for what one of A is rounded to; where both are the same
// type, that tensor.
template <typename C>
Tensor Rounded(const Tensor& t) {
  return t.dtype() == kDTypeOf<C> ? t : Tensor::Empty(t.shape(), kDTypeOf<C>);
}

// Attention of sample `b`, which is sample `at` of the tensors, by products of
// C. Scores are not rounded to it: in bfloat16 one of 40 would be wrong by 0.1,
// and its weight by a tenth.
template <typename C>
class Forward {
 public:
  using A = typename Accumulate<C>::type;
  Forward(const Sizes& s, const Rules<A>& rules)
      : s_(s),
        rules_(rules),
        scores_(Tensor::Empty({s.heads, s.block, s.keys}, kDTypeOf<A>)),
        weights_(Rounded<C>(scores_)),
        mixed_(Tensor::Empty({s.heads, s.block, s.e}, kDTypeOf<A>)) {}

  void Run(int64_t b, int64_t at, const Tensor& query, const Tensor& key,
           const Tensor& value, const Tensor& out) const {
    const Sizes& s = s_;
    constexpr DType kType = kDTypeOf<C>;
    for (int64_t first = 0; first < s.queries; first += s.block) {
      const int64_t rows = std::min(s.block, s.queries - first);
      Product(kType, s.heads, rows, s.keys, s.d, Heads(query, at, first),
              Heads(key, at, 0, true), scores_);
      ForEachScoreRow<C>(s.heads, rows, s.keys, scores_, Tensor(), weights_,
                         Tensor(), [&](int64_t head, int64_t i, A* row, A*) {
                           if (s.keys == 0) return;
                           Weigh(rules_.mask, rules_.scale, b, head, first + i,
                                 s.keys, row);
                         });
      Product(kType, s.heads, rows, s.e, s.keys, Dense(weights_, rows, s.keys),
              Heads(value, at), mixed_);
      Store<C>(mixed_, rows, 1.0, false, out, at, first);
    }
  }

 private:
  const Sizes& s_;
  const Rules<A>& rules_;
  Tensor scores_, weights_, mixed_;
};

// Its gradients. No queries give keys and values none: then theirs are left as
// they are.
template <typename C>
class Backward {
 public:
  using A = typename Accumulate<C>::type;
  Backward(const Sizes& s, const Rules<A>& rules)
      : s_(s),
        rules_(rules),
        weights_(Tensor::Empty({s.heads, s.block, s.keys}, kDTypeOf<A>)),
        grads_(Tensor::Empty({s.heads, s.block, s.keys}, kDTypeOf<A>)),
        rounded_weights_(Rounded<C>(weights_)),
        rounded_grads_(Rounded<C>(grads_)),
        part_(Tensor::Empty(
            {s.heads, std::max(s.block, s.keys), std::max(s.d, s.e)},
            kDTypeOf<A>)) {}

  void Run(int64_t b, int64_t at, const Tensor& grad_out, const Tensor& query,
           const Tensor& key, const Tensor& value, const Tensor& query_grad,
           const Tensor& key_grad, const Tensor& value_grad) const {
    const Sizes& s = s_;
    constexpr DType kType = kDTypeOf<C>;
    for (int64_t first = 0; first < s.queries; first += s.block) {
      const int64_t rows = std::min(s.block, s.queries - first);
      const bool more = first > 0;
      Product(kType, s.heads, rows, s.keys, s.d, Heads(query, at, first),
              Heads(key, at, 0, true), weights_);
      Product(kType, s.heads, rows, s.keys, s.e, Heads(grad_out, at, first),
              Heads(value, at, 0, true), grads_);
      ForEachScoreRow<C>(
          s.heads, rows, s.keys, weights_, grads_, rounded_weights_,
          rounded_grads_, [&](int64_t head, int64_t i, A* p, A* dp) {
            if (s.keys == 0) return;
            Weigh(rules_.mask, rules_.scale, b, head, first + i, s.keys, p);
            const A r =
                SumOver<A>(s.keys, [&](int64_t j) { return p[j] * dp[j]; });
            for (int64_t j = 0; j < s.keys; ++j) dp[j] = p[j] * (dp[j] - r);
          });
      const double scale = rules_.scale;
      Product(kType, s.heads, s.keys, s.e, rows,
              Dense(rounded_weights_, rows, s.keys, true),
              Heads(grad_out, at, first), part_);
      Store<C>(part_, s.keys, 1.0, more, value_grad, at, 0);
      Product(kType, s.heads, s.keys, s.d, rows,
              Dense(rounded_grads_, rows, s.keys, true),
              Heads(query, at, first), part_);
      Store<C>(part_, s.keys, scale, more, key_grad, at, 0);
      Product(kType, s.heads, rows, s.d, s.keys,
              Dense(rounded_grads_, rows, s.keys), Heads(key, at), part_);
      Store<C>(part_, rows, scale, false, query_grad, at, first);
    }
  }

 private:
  const Sizes& s_;
  const Rules<A>& rules_;
  Tensor weights_, grads_, rounded_weights_, rounded_grads_, part_;
};

}  // namespace

void Attention(const KernelContext& ctx, const Tensor& query, const Tensor& key,
               const Tensor& value, const Tensor& mask, double scale,
               Tensor* out) {
  const Sizes s(query, value);
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Rules<A> rules{Mask<A>(mask), static_cast<A>(scale)};
    ForSamples(s, [&](int64_t begin, int64_t end) {
      if constexpr (!kIsAlwaysWide<T>) {
        if (!ComputesWide<T>()) {
          const Forward<T> forward(s, rules);
          for (int64_t b = begin; b < end; ++b)
            forward.Run(b, b, query, key, value, *out);
          return;
        }
      }
      const Forward<A> forward(s, rules);
      const Tensor own = EmptySample(*out, kDTypeOf<A>);
      const auto wide = [](const Tensor& t, int64_t b) {
        return FloatCopy(SampleOf(t, b), kDTypeOf<A>);
      };
      for (int64_t b = begin; b < end; ++b) {
        forward.Run(b, 0, wide(query, b), wide(key, b), wide(value, b), own);
        FloatCopyInto(own, SampleOf(*out, b));
      }
    });
  });
}

void AttentionGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const Tensor& query, const Tensor& key, const Tensor& value,
                   const Tensor& mask, double scale, Tensor* query_grad,
                   Tensor* key_grad, Tensor* value_grad) {
  const Sizes s(query, value);
  VisitFloat(query_grad->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Rules<A> rules{Mask<A>(mask), static_cast<A>(scale)};
    if (s.queries == 0) {
      for (Tensor* t : {key_grad, value_grad})
        std::fill_n(t->data<T>(), t->numel(), T(0.f));
      return;
    }
    ForSamples(s, [&](int64_t begin, int64_t end) {
      if constexpr (!kIsAlwaysWide<T>) {
        if (!ComputesWide<T>()) {
          const Backward<T> backward(s, rules);
          if (s.block >= s.queries || std::is_same_v<T, A>) {
            for (int64_t b = begin; b < end; ++b)
              backward.Run(b, b, grad_out, query, key, value, *query_grad,
                           *key_grad, *value_grad);
            return;
          }
          // Sums over blocks of queries.
          const Tensor of_key = EmptySample(*key_grad, kDTypeOf<A>),
                       of_value = EmptySample(*value_grad, kDTypeOf<A>);
          for (int64_t b = begin; b < end; ++b) {
            backward.Run(b, 0, SampleOf(grad_out, b), SampleOf(query, b),
                         SampleOf(key, b), SampleOf(value, b),
                         SampleOf(*query_grad, b), of_key, of_value);
            FloatCopyInto(of_key, SampleOf(*key_grad, b));
            FloatCopyInto(of_value, SampleOf(*value_grad, b));
          }
          return;
        }
      }
      const Backward<A> backward(s, rules);
      const Tensor of_query = EmptySample(*query_grad, kDTypeOf<A>),
                   of_key = EmptySample(*key_grad, kDTypeOf<A>),
                   of_value = EmptySample(*value_grad, kDTypeOf<A>);
      const auto wide = [](const Tensor& t, int64_t b) {
        return FloatCopy(SampleOf(t, b), kDTypeOf<A>);
      };
      for (int64_t b = begin; b < end; ++b) {
        backward.Run(b, 0, wide(grad_out, b), wide(query, b), wide(key, b),
                     wide(value, b), of_query, of_key, of_value);
        FloatCopyInto(of_query, SampleOf(*query_grad, b));
        FloatCopyInto(of_key, SampleOf(*key_grad, b));
        FloatCopyInto(of_value, SampleOf(*value_grad, b));
      }
    });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
