// Kernels of attention: products over the batch of samples and heads by cuBLAS,
// with one kernel between them for the rows of scores. Scores are of some
// queries at a time, so that their memory has a bound; how many depends on
// shapes only.
#include "ops/linalg/gemm_cuda.h"
#include "ops/nn/attention_kernels.h"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/softmax_rows_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

// Elements of a block of scores.
constexpr int64_t kBlock = int64_t{1} << 27;

struct Sizes {
  Sizes(const Tensor& query, const Tensor& value)
      : n(query.size(0)),
        queries(query.size(1)),
        keys(value.size(1)),
        heads(query.size(2)),
        d(query.size(3)),
        e(value.size(3)),
        block(
            std::clamp<int64_t>(kBlock / std::max<int64_t>(1, n * heads * keys),
                                1, std::max<int64_t>(1, queries))) {}
  int64_t n, queries, keys, heads, d, e;
  int64_t block;  // queries at a time
};

// The rows from `first` on of a tensor [N, rows, heads, columns], as a matrix
// for each sample and head.
GemmOperand Heads(const Tensor& t, int64_t first = 0, bool transposed = false) {
  const Strides& s = t.strides();
  GemmOperand m;
  m.data = static_cast<const char*>(t.raw_data()) +
           first * s[1] * ItemSize(t.dtype());
  m.row_stride = transposed ? s[3] : s[1];
  m.column_stride = transposed ? s[1] : s[3];
  m.batch_strides = {s[0], s[2]};
  return m;
}

// A dense [N, heads, rows, columns].
GemmOperand Dense(const Workspace& memory, int64_t heads, int64_t rows,
                  int64_t columns, bool transposed = false) {
  GemmOperand m;
  m.data = memory.data();
  m.row_stride = transposed ? 1 : columns;
  m.column_stride = transposed ? columns : 1;
  m.batch_strides = {heads * rows * columns, rows * columns};
  return m;
}

// to [N, heads, m, n] = a b
void Product(const KernelContext& ctx, DType dtype, const Sizes& s, int64_t m,
             int64_t n, int64_t k, const GemmOperand& a, const GemmOperand& b,
             const Workspace& to) {
  GemmProblem p;
  p.dtype = dtype;
  p.batch = {s.n, s.heads};
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a;
  p.b = b;
  p.c = to.data();
  Gemm(ctx, p);
}

// What is added to the scores of a row: element j of query i at
// data + ... + i * query + j * key.
struct Mask {
  FloatArray values;
  int64_t strides[4] = {};

  // `dense` must live as long.
  explicit Mask(const Tensor& dense) : values(dense) {
    if (!dense.defined()) return;
    for (int d = 0; d < dense.rank(); ++d) {
      if (dense.size(d) != 1) {
        strides[4 - dense.rank() + d] = dense.strides()[d];
      }
    }
  }
};

// Scores [N, heads, rows, keys] become weights, in place. With kGrad the
// gradients of weights, `grads`, become those of scores too.
template <class T, int V, bool kGrad>
__global__ void __launch_bounds__(kMostRowThreads)
    Weigh(Memory<T>* scores, Memory<T>* grads, Mask mask, Compute<T> scale,
          int64_t heads, int64_t rows, int64_t keys, int64_t first_query,
          int64_t lines) {
  using M = Memory<T>;
  using C = Compute<T>;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < lines;
       first += step) {
    const int64_t line = first + threadIdx.y;
    const bool mine = line < lines;
    const int64_t n = mine ? keys : 0;
    const int64_t start = mine ? line * keys : 0;
    const int64_t query = mine ? line % rows + first_query : 0;
    const int64_t head = mine ? line / rows % heads : 0;
    const int64_t sample = mine ? line / rows / heads : 0;
    const int64_t at = sample * mask.strides[0] + head * mask.strides[1] +
                       query * mask.strides[2];
    RowPacks<M, V> packs[kGrad ? 2 : 1];
    packs[0].Read(scores + start, n);
    if constexpr (kGrad) packs[1].Read(grads + start, n);
    const auto score = [&](C x, int64_t j) {
      x *= scale;
      return mask.values.data == nullptr
                 ? x
                 : x + mask.values.At(at + j * mask.strides[3], C(0));
    };
    auto sums = ExpSum<C>::Nothing();
    ForEachPack<C, V>(n, packs, [&](int64_t i, const auto& v) {
      C x[V];
#pragma unroll
      for (int k = 0; k < V; ++k) x[k] = score(v[0][k], i + k);
      sums.Take(x);
    });
    sums = JoinGroup(
        sums, [](const ExpSum<C>& a, const ExpSum<C>& b) { return a.Join(b); });
    const C factor = C(1) / sums.sum;
    C dot = C(0);
    if constexpr (kGrad) {
      ForEachPack<C, V>(n, packs, [&](int64_t i, const auto& v) {
#pragma unroll
        for (int k = 0; k < V; ++k) {
          dot += exp(score(v[0][k], i + k) - sums.largest) * factor * v[1][k];
        }
      });
      dot = JoinGroup(dot, PlusJoin{});
    }
    ForEachPack<C, V>(n, packs, [&](int64_t i, const auto& v) {
      C p[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
        p[k] = exp(score(v[0][k], i + k) - sums.largest) * factor;
      }
      WritePack<M, V>(scores + start + i, p);
      if constexpr (kGrad) {
        C ds[V];
#pragma unroll
        for (int k = 0; k < V; ++k) ds[k] = p[k] * (v[1][k] - dot);
        WritePack<M, V>(grads + start + i, ds);
      }
    });
  }
}

// Rows from `first` on of a row-major [N, all, heads, columns] from a dense
// [N, heads, rows, columns], times `factor`, or that much more.
template <class T, int V>
__global__ void StoreHeads(const Memory<T>* from, Memory<T>* to, int64_t heads,
                           int64_t rows, int64_t packs_each, int64_t all,
                           int64_t first, Compute<T> factor, bool more,
                           int64_t packs) {
  using M = Memory<T>;
  using C = Compute<T>;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < packs;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t column = i % packs_each, line = i / packs_each;
    const int64_t row = line % rows, head = line / rows % heads;
    const int64_t sample = line / rows / heads;
    auto* target = reinterpret_cast<Pack<M, V>*>(to) +
                   ((sample * all + first + row) * heads + head) * packs_each +
                   column;
    const auto source = reinterpret_cast<const Pack<M, V>*>(from)[i];
    Pack<M, V> old;
    if (more) old = *target;
    C v[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      v[k] = Load<C>(source.v[k]) * factor;
      if (more) v[k] += Load<C>(old.v[k]);
    }
    WritePack<M, V>(reinterpret_cast<M*>(target), v);
  }
}

// The kernels, for elements of type T.
template <class T>
struct Rows {
  using M = Memory<T>;
  const KernelContext& ctx;
  const Sizes& s;

  template <bool kGrad>
  void WeighRows(const Workspace& scores, void* grads, const Mask& mask,
                 double scale, int64_t rows, int64_t first) const {
    const int64_t lines = s.n * s.heads * rows;
    if (lines == 0 || s.keys == 0) return;
    VisitWidth<M>(s.keys, true, [&]<int V>(Number<V>) {
      const RowLaunch launch = LaunchRows(lines, s.keys, V * kPacksOf<V>);
      Weigh<T, V, kGrad><<<launch.grid, launch.block, 0, StreamOf(ctx)>>>(
          scores.as<M>(), static_cast<M*>(grads), mask,
          static_cast<Compute<T>>(scale), s.heads, rows, s.keys, first, lines);
    });
    CheckLaunch("attention");
  }

  void Store(const Workspace& from, int64_t rows, double factor, bool more,
             const Tensor& to, int64_t first) const {
    const int64_t columns = to.size(3);
    const int64_t count = s.n * s.heads * rows * columns;
    if (count == 0) return;
    VisitWidth<M>(columns, Aligned16({to.raw_data()}), [&]<int V>(Number<V>) {
      const int64_t packs = count / V;
      const int64_t blocks = std::min(CeilDiv(packs, 256), kMostPositions);
      StoreHeads<T, V>
          <<<static_cast<uint32_t>(blocks), 256, 0, StreamOf(ctx)>>>(
              from.as<M>(), static_cast<M*>(to.raw_data()), s.heads, rows,
              columns / V, to.size(1), first, static_cast<Compute<T>>(factor),
              more, packs);
    });
    CheckLaunch("attention");
  }
};

}  // namespace

void Attention(const KernelContext& ctx, const Tensor& query, const Tensor& key,
               const Tensor& value, const Tensor& mask, double scale,
               Tensor* out) {
  if (out->numel() == 0) return;
  const Sizes s(query, value);
  const DType dtype = out->dtype();
  const int64_t item = ItemSize(dtype), batch = s.n * s.heads * s.block;
  const Tensor dense = mask.defined() ? Contiguous(AnyFloatsOf(mask)) : mask;
  const Mask added(dense);
  const Workspace scores(ctx, batch * s.keys * item);
  const Workspace mixed(ctx, batch * s.e * item);
  VisitFloat(dtype, [&]<class T>(Tag<T>) {
    const Rows<T> kernels{ctx, s};
    for (int64_t first = 0; first < s.queries; first += s.block) {
      const int64_t rows = std::min(s.block, s.queries - first);
      Product(ctx, dtype, s, rows, s.keys, s.d, Heads(query, first),
              Heads(key, 0, true), scores);
      kernels.template WeighRows<false>(scores, nullptr, added, scale, rows,
                                        first);
      Product(ctx, dtype, s, rows, s.e, s.keys,
              Dense(scores, s.heads, rows, s.keys), Heads(value), mixed);
      kernels.Store(mixed, rows, 1.0, false, *out, first);
    }
  });
}

void AttentionGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const Tensor& query, const Tensor& key, const Tensor& value,
                   const Tensor& mask, double scale, Tensor* query_grad,
                   Tensor* key_grad, Tensor* value_grad) {
  const Sizes s(query, value);
  const DType dtype = query_grad->dtype();
  const int64_t item = ItemSize(dtype), batch = s.n * s.heads;
  // No queries give no gradient to keys.
  if (s.queries == 0) {
    for (const Tensor* t : {key_grad, value_grad}) {
      if (t->numel() == 0) continue;
      CheckCuda(cudaMemsetAsync(t->raw_data(), 0,
                                static_cast<size_t>(t->bytes()), StreamOf(ctx)),
                "cudaMemsetAsync");
    }
    return;
  }
  const Tensor dense = mask.defined() ? Contiguous(AnyFloatsOf(mask)) : mask;
  const Mask added(dense);
  const Workspace weights(ctx, batch * s.block * s.keys * item);
  const Workspace grads(ctx, batch * s.block * s.keys * item);
  const Workspace part(
      ctx, batch * std::max(s.block, s.keys) * std::max(s.d, s.e) * item);
  VisitFloat(dtype, [&]<class T>(Tag<T>) {
    const Rows<T> kernels{ctx, s};
    for (int64_t first = 0; first < s.queries; first += s.block) {
      const int64_t rows = std::min(s.block, s.queries - first);
      const bool more = first > 0;
      Product(ctx, dtype, s, rows, s.keys, s.d, Heads(query, first),
              Heads(key, 0, true), weights);
      Product(ctx, dtype, s, rows, s.keys, s.e, Heads(grad_out, first),
              Heads(value, 0, true), grads);
      kernels.template WeighRows<true>(weights, grads.data(), added, scale,
                                       rows, first);
      Product(ctx, dtype, s, s.keys, s.e, rows,
              Dense(weights, s.heads, rows, s.keys, true),
              Heads(grad_out, first), part);
      kernels.Store(part, s.keys, 1.0, more, *value_grad, 0);
      Product(ctx, dtype, s, s.keys, s.d, rows,
              Dense(grads, s.heads, rows, s.keys, true), Heads(query, first),
              part);
      kernels.Store(part, s.keys, scale, more, *key_grad, 0);
      Product(ctx, dtype, s, rows, s.d, s.keys,
              Dense(grads, s.heads, rows, s.keys), Heads(key), part);
      kernels.Store(part, rows, scale, false, *query_grad, first);
    }
  });
}

}  // namespace proa::inline v0::ops::cuda
