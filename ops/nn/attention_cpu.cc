// Kernels of attention, compiled once per instruction set. A task is a head of
// a sample, or some of its queries: their scores, by a product with all keys,
// stay in the cache of a core until they are mixed. How the work is divided
// depends on shapes only.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ops/linalg/gemm.h"
#include "ops/nn/attention_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/row_loops.h"
#include "ops/nn/softmax_rows.h"
#include "ops/onednn/threads.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Scores that are computed at a time, and queries at most.
constexpr int64_t kScores = 1 << 17, kMostQueries = 128;

struct Sizes {
  Sizes(const Tensor& query, const Tensor& value)
      : n(query.size(0)),
        queries(query.size(1)),
        keys(value.size(1)),
        heads(query.size(2)),
        d(query.size(3)),
        e(value.size(3)),
        block(std::min(std::clamp<int64_t>(kScores / std::max<int64_t>(1, keys),
                                           1, kMostQueries),
                       std::max<int64_t>(1, queries))) {}
  int64_t blocks() const { return (queries + block - 1) / block; }
  // Parts of the blocks of a head whose gradients of keys and values are added
  // up afterwards: where there are few heads for many threads.
  int64_t chunks() const {
    constexpr int64_t kTasks = 16;
    const int64_t all = std::max<int64_t>(1, n * heads);
    return std::clamp<int64_t>(kTasks / all, 1, std::max<int64_t>(1, blocks()));
  }
  int64_t n, queries, keys, heads, d, e;
  int64_t block;  // queries at a time
};

// A head of a sample.
struct Head {
  int64_t sample, head;
};

// The rows from `first` on of a head of a tensor [N, rows, heads, columns].
Tensor RowsOf(const Tensor& t, const Head& of, int64_t first, int64_t rows) {
  const Strides& s = t.strides();
  return t.AsStrided({rows, t.size(3)}, {s[1], s[3]},
                     of.sample * s[0] + first * s[1] + of.head * s[2]);
}

// The same as a dense matrix of C: where it lies, or a copy in `own`. Products
// of rows that lie apart, as those of a head do, take up to twice the time.
template <typename C>
Tensor Operand(const Tensor& t, const Head& of, int64_t first, int64_t rows,
               const Tensor& own) {
  const Tensor there = RowsOf(t, of, first, rows);
  if (t.dtype() == kDTypeOf<C> && there.is_contiguous()) return there;
  const int64_t columns = t.size(3), item = ItemSize(t.dtype());
  const Tensor copy = own.AsStrided({rows, columns}, {columns, 1}, 0);
  const ConvertFn convert = FindConvert(t.dtype(), kDTypeOf<C>);
  const bool apart = there.strides()[1] != 1;
  std::vector<char> gathered(apart && convert != nullptr ? columns * item : 0);
  const auto* source = static_cast<const char*>(there.raw_data());
  C* target = copy.data<C>();
  for (int64_t i = 0; i < rows; ++i) {
    const char* row = source;
    if (apart) {
      char* const to = convert != nullptr ? gathered.data()
                                          : reinterpret_cast<char*>(target);
      GatherRun(source, there.strides()[1] * item, item, columns, to);
      row = to;
    }
    if (convert != nullptr)
      convert(row, target, columns);
    else if (!apart)
      std::memcpy(target, row, columns * item);
    source += there.strides()[0] * item;
    target += columns;
  }
  return copy;
}

GemmOperand Matrix(const Tensor& t, bool transposed) {
  GemmOperand m;
  m.data = t.raw_data();
  m.row_stride = t.strides()[transposed ? 1 : 0];
  m.column_stride = t.strides()[transposed ? 0 : 1];
  return m;
}

// to [m, n] = a b, or of their transposes; `to` is dense, of their type or
// float32.
void Product(const Tensor& a, bool transpose_a, const Tensor& b,
             bool transpose_b, const Tensor& to, int64_t m, int64_t n) {
  GemmProblem p;
  p.dtype = a.dtype();
  p.float_result = to.dtype() != a.dtype();
  p.m = m;
  p.n = n;
  p.k = a.size(transpose_a ? 0 : 1);
  p.a = Matrix(a, transpose_a);
  p.b = Matrix(b, transpose_b);
  p.c = to.raw_data();
  Gemm(p);
}

// The first `rows` rows of `t`, as a dense matrix of `columns`.
Tensor First(const Tensor& t, int64_t rows, int64_t columns) {
  return t.AsStrided({rows, columns}, {columns, 1}, 0);
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

// Scores of a query become what softmax is taken of, but for the factor that is
// returned, which is not negative.
template <typename A>
A Masked(const Mask<A>& mask, A scale, int64_t b, int64_t head, int64_t query,
         int64_t keys, A* row) {
  if (!mask.defined() && scale >= 0) return scale;
  for (int64_t j = 0; j < keys; ++j) row[j] *= scale;
  mask.AddTo(b, head, query, keys, row);
  return 1;
}

// Rounds the first n elements of `x` to those of `rounded`, unless they are the
// same.
template <typename C>
void Round(const Tensor& x, int64_t n, const Tensor& rounded) {
  using A = typename Accumulate<C>::type;
  if constexpr (!std::is_same_v<C, A>)
    Narrow(x.data<A>(), n, rounded.data<C>());
}

// The rows of a head of a row-major tensor from `first` on become those of
// `from`, dense, of A.
template <typename A>
void Store(const Tensor& from, int64_t rows, const Tensor& to, const Head& of,
           int64_t first) {
  const int64_t columns = to.size(3), item = ItemSize(to.dtype());
  const ConvertFn convert = FindConvert(kDTypeOf<A>, to.dtype());
  const Tensor there = RowsOf(to, of, first, rows);
  char* target = static_cast<char*>(there.raw_data());
  const A* source = from.data<A>();
  for (int64_t i = 0; i < rows; ++i) {
    if (convert == nullptr)
      std::copy_n(source, columns, reinterpret_cast<A*>(target));
    else
      convert(source, target, columns);
    source += columns;
    target += there.strides()[0] * item;
  }
}

// Whether products of T are computed of copies in float32: each would make such
// copies itself.
template <typename T>
bool ComputesWide() {
  return std::is_same_v<T, float16> ||
         (std::is_same_v<T, bfloat16> && !MultipliesBFloat16());
}

template <typename A>
void Scale(A* x, int64_t n, A by) {
  for (int64_t i = 0; i < n; ++i) x[i] *= by;
}

// What all heads have in common.
template <typename A>
struct Rules {
  Mask<A> mask;
  A scale;
};

template <typename C>
Tensor Empty(int64_t rows, int64_t columns) {
  return Tensor::Empty({rows, columns}, kDTypeOf<C>);
}

// Memory for what is rounded to C of a tensor of A; where both are the same
// type, that tensor.
template <typename C>
Tensor Rounded(const Tensor& t) {
  return t.dtype() == kDTypeOf<C> ? t : Tensor::Empty(t.shape(), kDTypeOf<C>);
}

// Attention of some queries of a head, by products of C. Scores are not rounded
// to it: in bfloat16 one of 40 would be wrong by 0.1, and its weight by a
// tenth.
template <typename C>
class Forward {
 public:
  using A = typename Accumulate<C>::type;
  Forward(const Sizes& s, const Rules<A>& rules)
      : s_(s),
        rules_(rules),
        scores_(Empty<A>(s.block, s.keys)),
        weights_(Rounded<C>(scores_)),
        sums_(Empty<A>(1, s.block)),
        mixed_(Empty<A>(s.block, s.e)),
        query_(Empty<C>(s.block, s.d)),
        key_(Empty<C>(s.keys, s.d)),
        value_(Empty<C>(s.keys, s.e)) {}

  // From here on, queries are of this head.
  void Take(const Head& of, const Tensor& key, const Tensor& value) {
    of_ = of;
    keys_ = Shared(key, key_);
    values_ = Shared(value, value_);
  }

  // Of the queries of a block from `first` on.
  void Run(int64_t first, const Tensor& query, const Tensor& out) const {
    const Sizes& s = s_;
    const int64_t rows = std::min(s.block, s.queries - first);
    Product(Operand<C>(query, of_, first, rows, query_), false, keys_, true,
            scores_, rows, s.keys);
    Exponentials(first, rows);
    Product(First(weights_, rows, s.keys), false, values_, false, mixed_, rows,
            s.e);
    for (int64_t i = 0; s.keys > 0 && i < rows; ++i)
      Scale<A>(mixed_.data<A>() + i * s.e, s.e, A(1) / sums_.data<A>()[i]);
    Store<A>(mixed_, rows, out, of_, first);
  }

 private:
  // Keys or values of the head. A copy costs as much as a product with a few
  // queries.
  Tensor Shared(const Tensor& t, const Tensor& own) const {
    constexpr int64_t kFew = 4;
    if (s_.queries <= kFew && t.dtype() == kDTypeOf<C> && t.strides()[3] == 1)
      return RowsOf(t, of_, 0, s_.keys);
    return Operand<C>(t, of_, 0, s_.keys, own);
  }

  // The scores of queries [first, first + rows) become weights, but for the
  // sum of each row, which the values that they mix are divided by: they are
  // fewer.
  void Exponentials(int64_t first, int64_t rows) const {
    const int64_t keys = s_.keys;
    if (keys == 0) return;
    const int64_t together = keys < kWideRow ? RowsTogether(keys) : 1;
    for (int64_t i = 0; i < rows; i += together) {
      const int64_t count = std::min(together, rows - i);
      A* const scores = scores_.data<A>() + i * keys;
      A factor = 1;
      for (int64_t k = 0; k < count; ++k) {
        factor = Masked(rules_.mask, rules_.scale, of_.sample, of_.head,
                        first + i + k, keys, scores + k * keys);
      }
      if (keys < kWideRow)
        ExpShortRows(scores, count, keys, factor, scores, sums_.data<A>() + i);
      else
        sums_.data<A>()[i] = ExpLongRow(scores, keys, factor, scores);
      if constexpr (!std::is_same_v<C, A>)
        Narrow(scores, count * keys, weights_.data<C>() + i * keys);
    }
  }

  const Sizes& s_;
  const Rules<A>& rules_;
  Tensor scores_, weights_, sums_, mixed_, query_, key_, value_;
  Head of_{};
  Tensor keys_, values_;
};

// sum += part, of n elements each; or sum = part.
template <typename A>
void AddPart(const Tensor& part, int64_t n, bool more, const Tensor& sum) {
  const A* const from = part.data<A>();
  A* const to = sum.data<A>();
  if (!more) {
    std::copy_n(from, n, to);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  }
}

// The sums over chunks of a head, [chunks, keys, columns], in order, times
// `scale`, to the gradient of keys or values.
template <typename A>
void StoreSum(const Tensor& parts, int64_t first, int64_t rows, A scale,
              const Tensor& to, const Head& of) {
  const int64_t columns = to.size(3), n = rows * columns;
  const auto rows_of = [&](int64_t chunk) {
    return parts.AsStrided({rows, columns}, {columns, 1},
                           chunk * parts.strides()[0] + first * columns);
  };
  const Tensor sum = rows_of(0);
  for (int64_t chunk = 1; chunk < parts.size(0); ++chunk)
    AddPart<A>(rows_of(chunk), n, true, sum);
  Scale<A>(sum.data<A>(), n, scale);
  Store<A>(sum, rows, to, of, first);
}

// Its gradients, of a head.
template <typename C>
class Backward {
 public:
  using A = typename Accumulate<C>::type;
  Backward(const Sizes& s, const Rules<A>& rules)
      : s_(s),
        rules_(rules),
        weights_(Empty<A>(s.block, s.keys)),
        grads_(Empty<A>(s.block, s.keys)),
        rounded_weights_(Rounded<C>(weights_)),
        rounded_grads_(Rounded<C>(grads_)),
        part_(Empty<A>(std::max(s.block, s.keys), std::max(s.d, s.e))),
        key_grad_(Empty<A>(s.keys, s.d)),
        value_grad_(Empty<A>(s.keys, s.e)),
        query_(Empty<C>(s.block, s.d)),
        key_(Empty<C>(s.keys, s.d)),
        value_(Empty<C>(s.keys, s.e)),
        out_(Empty<C>(s.block, s.e)) {}

  // The queries of blocks [begin, end) of a head: their gradients, and what
  // they add to those of keys and values (SumOfKeys, SumOfValues), which are
  // not yet scaled.
  void Run(const Head& of, int64_t begin, int64_t end, const Tensor& grad_out,
           const Tensor& query, const Tensor& key, const Tensor& value,
           const Tensor& query_grad) const {
    const Sizes& s = s_;
    const Tensor keys = Operand<C>(key, of, 0, s.keys, key_);
    const Tensor values = Operand<C>(value, of, 0, s.keys, value_);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * s.block;
      const int64_t rows = std::min(s.block, s.queries - first);
      const Tensor queries = Operand<C>(query, of, first, rows, query_);
      const Tensor grads = Operand<C>(grad_out, of, first, rows, out_);
      Product(queries, false, keys, true, weights_, rows, s.keys);
      Product(grads, false, values, true, grads_, rows, s.keys);
      for (int64_t i = 0; s.keys > 0 && i < rows; ++i)
        OfScores(of, first + i, weights_.data<A>() + i * s.keys,
                 grads_.data<A>() + i * s.keys);
      Round<C>(weights_, rows * s.keys, rounded_weights_);
      Round<C>(grads_, rows * s.keys, rounded_grads_);
      const Tensor weight = First(rounded_weights_, rows, s.keys);
      const Tensor grad = First(rounded_grads_, rows, s.keys);
      Product(weight, true, grads, false, part_, s.keys, s.e);
      AddPart<A>(part_, s.keys * s.e, block > begin, value_grad_);
      Product(grad, true, queries, false, part_, s.keys, s.d);
      AddPart<A>(part_, s.keys * s.d, block > begin, key_grad_);
      Product(grad, false, keys, false, part_, rows, s.d);
      Scale<A>(part_.data<A>(), rows * s.d, rules_.scale);
      Store<A>(part_, rows, query_grad, of, first);
    }
  }

  const Tensor& SumOfKeys() const { return key_grad_; }
  const Tensor& SumOfValues() const { return value_grad_; }

 private:
  // Scores of a query become weights, gradients of weights those of scores.
  void OfScores(const Head& of, int64_t query, A* p, A* dp) const {
    const int64_t keys = s_.keys;
    const A factor =
        Masked(rules_.mask, rules_.scale, of.sample, of.head, query, keys, p);
    SoftmaxRows(p, 1, keys, factor, p);
    const A r = SumOver<A>(keys, [&](int64_t j) { return p[j] * dp[j]; });
    for (int64_t j = 0; j < keys; ++j) dp[j] = p[j] * (dp[j] - r);
  }

  const Sizes& s_;
  const Rules<A>& rules_;
  Tensor weights_, grads_, rounded_weights_, rounded_grads_, part_;
  Tensor key_grad_, value_grad_, query_, key_, value_, out_;
};

// Calls f(tag of the type that products are computed in).
template <typename T, typename F>
void VisitComputed(F&& f) {
  if constexpr (!std::is_same_v<T, float16>)
    if (!ComputesWide<T>()) return f(TypeTag<T>());
  f(TypeTag<typename Accumulate<T>::type>());
}

// Calls run(begin, end) for tasks, each of `work` multiply-adds, on threads.
template <typename F>
void RunTasks(int64_t tasks, int64_t work, F&& run) {
  constexpr int64_t kWorth = 1 << 16;
  const int64_t grain =
      std::max<int64_t>(1, kWorth / std::max<int64_t>(1, work));
  parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    const onednn::SerialScope serial;
    run(begin, end);
  });
}

}  // namespace

void Attention(const KernelContext& ctx, const Tensor& query, const Tensor& key,
               const Tensor& value, const Tensor& mask, double scale,
               Tensor* out) {
  const Sizes s(query, value);
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Rules<A> rules{Mask<A>(mask), static_cast<A>(scale)};
    VisitComputed<T>([&](auto computed) {
      using C = typename decltype(computed)::type;
      const int64_t blocks = s.blocks();
      RunTasks(s.n * s.heads * blocks, s.block * s.keys * (s.d + s.e),
               [&](int64_t begin, int64_t end) {
                 Forward<C> forward(s, rules);
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t head = t / blocks;
                   if (t == begin || t % blocks == 0)
                     forward.Take({head / s.heads, head % s.heads}, key, value);
                   forward.Run(t % blocks * s.block, query, *out);
                 }
               });
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
    // No queries give keys and values none.
    if (s.queries == 0) {
      for (Tensor* t : {key_grad, value_grad})
        std::fill_n(t->data<T>(), t->numel(), T(0.f));
      return;
    }
    const int64_t chunks = s.chunks(), blocks = s.blocks();
    // What chunks add to the gradients of keys and values of each head.
    const auto parts = [&](int64_t columns) {
      return Tensor::Empty(
          {chunks > 1 ? s.n * s.heads : 0, chunks, s.keys * columns},
          kDTypeOf<A>);
    };
    const Tensor of_keys = parts(s.d), of_values = parts(s.e);
    const auto head_of = [&](const Tensor& t, int64_t head) {
      return t.AsStrided({chunks, t.size(2)}, {t.size(2), 1},
                         head * t.strides()[0]);
    };
    VisitComputed<T>([&](auto computed) {
      using C = typename decltype(computed)::type;
      RunTasks(s.n * s.heads * chunks,
               s.queries * s.keys * (s.d + s.e) / chunks,
               [&](int64_t begin, int64_t end) {
                 const Backward<C> backward(s, rules);
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t head = t / chunks, chunk = t % chunks;
                   const Head of{head / s.heads, head % s.heads};
                   backward.Run(of, blocks * chunk / chunks,
                                blocks * (chunk + 1) / chunks, grad_out, query,
                                key, value, *query_grad);
                   const Tensor &keys = backward.SumOfKeys(),
                                &values = backward.SumOfValues();
                   if (chunks == 1) {
                     Scale<A>(keys.data<A>(), s.keys * s.d, rules.scale);
                     Store<A>(keys, s.keys, *key_grad, of, 0);
                     Store<A>(values, s.keys, *value_grad, of, 0);
                   } else {
                     const int64_t at = head * chunks + chunk;
                     std::copy_n(keys.data<A>(), s.keys * s.d,
                                 of_keys.data<A>() + at * s.keys * s.d);
                     std::copy_n(values.data<A>(), s.keys * s.e,
                                 of_values.data<A>() + at * s.keys * s.e);
                   }
                 }
               });
    });
    if (chunks == 1) return;
    // Chunks are added up by runs of keys.
    constexpr int64_t kKeys = 64;
    const int64_t runs = (s.keys + kKeys - 1) / kKeys;
    RunTasks(s.n * s.heads * runs, chunks * kKeys * (s.d + s.e),
             [&](int64_t begin, int64_t end) {
               for (int64_t t = begin; t < end; ++t) {
                 const int64_t head = t / runs, first = t % runs * kKeys;
                 const int64_t rows = std::min(kKeys, s.keys - first);
                 const Head of{head / s.heads, head % s.heads};
                 StoreSum<A>(head_of(of_keys, head), first, rows, rules.scale,
                             *key_grad, of);
                 StoreSum<A>(head_of(of_values, head), first, rows, A(1),
                             *value_grad, of);
               }
             });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
