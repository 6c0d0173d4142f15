// Kernels of sort.yaml: order along an axis. Elements become unsigned keys of
// the same order (NaN above every number, -0 equal to 0; all bits turned for
// falling order, which keeps equal elements in theirs), and lines of pairs of a
// key and a place are sorted stably, by radix.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/indexing/sort_kernels.h"
#include "ops/primitives/cuda/divide.cuh"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/sort.h"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;

// Of the type's width in the lowest bits of 32 or 64.
template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
__device__ __forceinline__ KeyOf<T> SortKey(Memory<T> v) {
  using Key = KeyOf<T>;
  constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);
  constexpr Key kAll = kSign | (kSign - 1);
  if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return static_cast<Key>(v);
  } else if constexpr (std::is_integral_v<T>) {
    return (static_cast<Key>(v) & kAll) ^ kSign;
  } else {
    constexpr Key kInfinity = std::is_same_v<T, float16>    ? Key{0x7c00}
                              : std::is_same_v<T, bfloat16> ? Key{0x7f80}
                              : std::is_same_v<T, float>
                                  ? Key{0x7f800000}
                                  : static_cast<Key>(0x7ff0000000000000);
    Key bits;
    if constexpr (sizeof(T) == 2) {
      bits = *reinterpret_cast<const uint16_t*>(&v);
    } else if constexpr (sizeof(T) == 4) {
      bits = __float_as_uint(v);
    } else {
      bits = static_cast<Key>(__double_as_longlong(v));
    }
    if ((bits & ~kSign) > kInfinity) return kAll;
    if ((bits & ~kSign) == 0) return kSign;
    return (bits & kSign) != 0 ? ~bits & kAll : bits | kSign;
  }
}

// The lines of a contiguous tensor along an axis.
struct Lines {
  int64_t count = 1, n = 1, stride = 1;

  Lines(const Shape& shape, int axis) {
    for (int i = 0; i < shape.rank(); ++i) {
      (i == axis ? n : count) *= shape[i];
      if (i > axis) stride *= shape[i];
    }
  }
};

// Pairs [line, place] from elements [outer, place, inner], read in their order.
template <class T, class Key>
__global__ void MakePairs(const Memory<T>* __restrict__ x,
                          Key* __restrict__ keys, int32_t* __restrict__ places,
                          uint32_t total, int64_t first_line, Lines lines,
                          FlatDivider by_stride, FlatDivider by_n, Key flip) {
  const uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= total) return;
  // `at` counts pairs; where lines are interleaved neighbours in memory are
  // those of neighbouring lines.
  int64_t line, place;
  const int64_t chunk = total / lines.n;  // lines
  if (lines.stride == 1) {
    line = by_n.Quotient(at);
    place = at - line * lines.n;
  } else {
    place = by_stride.Quotient(at);  // a divider by the lines of this part
    line = at - place * chunk;
  }
  const int64_t all = first_line + line;
  const int64_t outer = all / lines.stride;
  const int64_t from =
      (outer * lines.n + place) * lines.stride + (all - outer * lines.stride);
  keys[line * lines.n + place] = SortKey<T>(x[from]) ^ flip;
  places[line * lines.n + place] = static_cast<int32_t>(place);
}

// Elements [begin, begin + m) of each sorted line to [outer, m, inner].
template <class T>
__global__ void WriteSorted(const Memory<T>* __restrict__ x,
                            const int32_t* __restrict__ places,
                            Memory<T>* __restrict__ out,
                            int64_t* __restrict__ indices, uint32_t total,
                            int64_t first_line, int64_t begin, int64_t m,
                            Lines lines, FlatDivider by_m,
                            FlatDivider by_lines) {
  const uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= total) return;
  int64_t line, k;
  const int64_t chunk = total / m;
  if (lines.stride == 1) {
    line = by_m.Quotient(at);
    k = at - line * m;
  } else {
    k = by_lines.Quotient(at);
    line = at - k * chunk;
  }
  const int64_t all = first_line + line;
  const int64_t outer = all / lines.stride, inner = all - outer * lines.stride;
  const int64_t place = places[line * lines.n + begin + k];
  const int64_t to = (outer * m + k) * lines.stride + inner;
  indices[to] = place;
  if (out != nullptr) {
    out[to] = x[(outer * lines.n + place) * lines.stride + inner];
  }
}

// Writes elements [begin, begin + m) of each line in order, and their places;
// `out` may be null.
template <class T>
void SortTo(const KernelContext& ctx, const char* op, const Tensor& x,
            const Lines& lines, bool descending, int64_t begin, int64_t m,
            void* out, int64_t* indices) {
  using Key = KeyOf<T>;
  if (lines.count == 0 || lines.n == 0 || m == 0) return;
  if (lines.n > kMostPositions / 2) {
    Fail(absl::StatusCode::kUnimplemented, op, ": lines of ", lines.n,
         " elements are longer than gpu kernels sort; move x to the cpu");
  }
  const cudaStream_t stream = StreamOf(ctx);
  const auto* from = static_cast<const Memory<T>*>(x.raw_data());
  const Key flip =
      descending ? static_cast<Key>(~uint64_t{0} >> (64 - 8 * sizeof(T))) : 0;
  // As many lines at once as a sort counts, and as 1 GiB or so of pairs holds.
  const int64_t most =
      std::clamp<int64_t>((int64_t{1} << 26) / lines.n, 1, lines.count);
  const int64_t size = CeilDiv(most * lines.n, 16) * 16;
  const Workspace keys(ctx, 2 * size * int64_t{sizeof(Key)});
  const Workspace places(ctx, 2 * size * int64_t{sizeof(int32_t)});
  for (int64_t first = 0; first < lines.count; first += most) {
    const int64_t count = std::min(most, lines.count - first);
    PairBuffers<Key> pairs{keys.as<Key>(), keys.as<Key>() + size,
                           places.as<int32_t>(), places.as<int32_t>() + size};
    const int64_t total = count * lines.n, results = count * m;
    MakePairs<T, Key><<<static_cast<uint32_t>(CeilDiv(total, kThreads)),
                        kThreads, 0, stream>>>(
        from, pairs.keys, pairs.values, static_cast<uint32_t>(total), first,
        lines, FlatDivider(count, total), FlatDivider(lines.n, total), flip);
    CheckLaunch("keys to sort");
    SortLines(ctx, count, lines.n, &pairs);
    WriteSorted<T>
        <<<static_cast<uint32_t>(CeilDiv(results, kThreads)), kThreads, 0,
           stream>>>(from, pairs.values, static_cast<Memory<T>*>(out), indices,
                     static_cast<uint32_t>(results), first, begin, m, lines,
                     FlatDivider(m, results), FlatDivider(count, results));
    CheckLaunch("sorted elements");
  }
}

void SortInto(const KernelContext& ctx, const char* op, const Tensor& x,
              const Lines& lines, bool descending, int64_t begin, int64_t m,
              Tensor* out, Tensor* indices) {
  VisitReal(x.dtype(), [&]<class T>(Tag<T>) {
    SortTo<T>(ctx, op, x, lines, descending, begin, m,
              out == nullptr ? nullptr : out->raw_data(),
              indices->data<int64_t>());
  });
}

// Where each value goes in its line of sorted elements.
template <class T, class Out>
__global__ void Search(const Memory<T>* __restrict__ sorted,
                       const Memory<T>* __restrict__ values, int64_t n,
                       int64_t total, int64_t per_line, bool right,
                       Out* __restrict__ out, FlatDivider by_line) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= total) return;
  const Memory<T>* line = sorted + by_line.Quotient(at) * n;
  const auto key = SortKey<T>(values[at]);
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const auto element = SortKey<T>(line[middle]);
    if (right ? element <= key : element < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  out[at] = static_cast<Out>(low);
}

}  // namespace

void Sort(const KernelContext& ctx, const Tensor& x, int64_t axis,
          bool descending, Tensor* out, Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("sort", axis, x.rank()));
  SortInto(ctx, "sort", x, lines, descending, 0, lines.n, out, indices);
}

void Argsort(const KernelContext& ctx, const Tensor& x, int64_t axis,
             bool descending, Tensor* out) {
  const Lines lines(x.shape(), NormalizeAxis("argsort", axis, x.rank()));
  SortInto(ctx, "argsort", x, lines, descending, 0, lines.n, nullptr, out);
}

void TopK(const KernelContext& ctx, const Tensor& x, int64_t k, int64_t axis,
          bool largest, bool, Tensor* out, Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("topk", axis, x.rank()));
  SortInto(ctx, "topk", x, lines, largest, 0, k, out, indices);
}

void KthValue(const KernelContext& ctx, const Tensor& x, int64_t k,
              int64_t axis, bool, Tensor* out, Tensor* indices) {
  const Lines lines(x.shape(), NormalizeAxis("kthvalue", axis, x.rank()));
  SortInto(ctx, "kthvalue", x, lines, false, k - 1, 1, out, indices);
}

void SearchSorted(const KernelContext& ctx, const Tensor& sorted_sequence,
                  const Tensor& values, bool out_int32, bool right,
                  Tensor* out) {
  const int64_t total = values.numel();
  if (total == 0) return;
  const int64_t n = sorted_sequence.size(sorted_sequence.rank() - 1);
  const int64_t per_line = values.rank() == 0 || sorted_sequence.rank() == 1
                               ? total
                               : values.size(values.rank() - 1);
  if (out_int32) {
    PROA_REQUIRE(n <= std::numeric_limits<int32_t>::max(), "searchsorted: ", n,
                 " positions do not fit in int32");
  }
  const cudaStream_t stream = StreamOf(ctx);
  const auto blocks = static_cast<uint32_t>(CeilDiv(total, kThreads));
  VisitReal(values.dtype(), [&]<class T>(Tag<T>) {
    const auto run = [&]<class Out>(Out* to) {
      Search<T, Out><<<blocks, kThreads, 0, stream>>>(
          static_cast<const Memory<T>*>(sorted_sequence.raw_data()),
          static_cast<const Memory<T>*>(values.raw_data()), n, total, per_line,
          right, to, FlatDivider(per_line, total));
    };
    out_int32 ? run(out->data<int32_t>()) : run(out->data<int64_t>());
  });
  CheckLaunch("searchsorted");
}

}  // namespace proa::inline v0::ops::cuda
