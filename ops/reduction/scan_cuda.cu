// Kernels of scan.yaml: x is brought to the accumulator type, contiguous, and
// scanned; results go back to theirs. The same bits each time.
#include <cub/block/block_scan.cuh>

#include <cstdint>
#include <optional>

#include "ops/elementwise/cast_ops.h"
#include "ops/primitives/arithmetic.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/reduction/scan_kernels.h"
#include "tensor/copy.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 8;
constexpr int64_t kPiece = kThreads * kPerThread;  // that a block scans at once

struct Plus {
  template <class T>
  static __device__ __forceinline__ T Start() {
    return T(0);
  }
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return WrapAdd(a, b);
  }
};

struct Times {
  template <class T>
  static __device__ __forceinline__ T Start() {
    return T(1);
  }
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return WrapMultiply(a, b);
  }
};

// Scans a part of a row, from `carry` on; returns the last result, in all
// threads.
template <class Op, class T>
__device__ T ScanPart(const T* in, T* out, int64_t n, T carry) {
  using BlockScan = cub::BlockScan<T, kThreads>;
  __shared__ typename BlockScan::TempStorage memory;
  const Op op;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    T items[kPerThread];
    const int64_t first = begin + int64_t{threadIdx.x} * kPerThread;
#pragma unroll
    for (int k = 0; k < kPerThread; ++k) {
      items[k] = first + k < n ? in[first + k] : Op::template Start<T>();
    }
    T total;
    BlockScan(memory).InclusiveScan(items, items, op, total);
    if (out != nullptr) {
#pragma unroll
      for (int k = 0; k < kPerThread; ++k) {
        if (first + k < n) out[first + k] = op(carry, items[k]);
      }
    }
    carry = op(carry, total);
    __syncthreads();
  }
  return carry;
}

// A block for each row, or for each of its `parts` where it has several:
// without `out` only their totals are written, with it they begin with the
// totals (scanned by then) before them.
template <class Op, class T>
__global__ void __launch_bounds__(kThreads)
    ScanRows(const T* in, T* out, T* totals, int64_t n, int64_t part_size,
             int64_t parts) {
  const int64_t row = blockIdx.x / parts, part = blockIdx.x % parts;
  const int64_t begin = row * n + part * part_size;
  const int64_t size = min(part_size, n - part * part_size);
  if (out == nullptr) {
    const T total =
        ScanPart<Op, T>(in + begin, nullptr, size, Op::template Start<T>());
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
  } else {
    ScanPart<Op, T>(
        in + begin, out + begin, size,
        part == 0 ? Op::template Start<T>() : totals[blockIdx.x - 1]);
  }
}

// A thread for each column of [outer, n, inner].
template <class Op, class T>
__global__ void __launch_bounds__(kThreads)
    ScanColumns(const T* in, T* out, int64_t columns, int64_t n,
                int64_t inner) {
  const int64_t c = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (c >= columns) return;
  const int64_t begin = c / inner * n * inner + c % inner;
  const Op op;
  T carry = Op::template Start<T>();
  for (int64_t i = 0; i < n; ++i) {
    carry = op(carry, in[begin + i * inner]);
    out[begin + i * inner] = carry;
  }
}

template <class Op, class T>
void Scan(const KernelContext& ctx, const T* in, T* out, int64_t outer,
          int64_t n, int64_t inner) {
  const cudaStream_t stream = StreamOf(ctx);
  if (inner > 1) {
    const int64_t columns = outer * inner;
    ScanColumns<Op, T><<<static_cast<uint32_t>(CeilDiv(columns, kThreads)),
                         kThreads, 0, stream>>>(in, out, columns, n, inner);
    return CheckLaunch("scan");
  }
  // Long rows, where there are few, in parts: their totals first.
  constexpr int64_t kPart = 8 * kPiece;
  const bool cut = outer < 2 * NumMultiprocessors() && n >= 2 * kPart;
  const int64_t part_size = cut ? kPart : n;
  const int64_t parts = CeilDiv(n, part_size);
  const Workspace memory(
      ctx, cut ? outer * parts * static_cast<int64_t>(sizeof(T)) : 0);
  T* totals = memory.as<T>();
  const auto blocks = static_cast<uint32_t>(outer * parts);
  if (cut) {
    ScanRows<Op, T><<<blocks, kThreads, 0, stream>>>(in, nullptr, totals, n,
                                                     part_size, parts);
    CheckLaunch("scan");
    Scan<Op>(ctx, totals, totals, outer, parts, 1);
  }
  ScanRows<Op, T>
      <<<blocks, kThreads, 0, stream>>>(in, out, totals, n, part_size, parts);
  CheckLaunch("scan");
}

DType AccumulatorOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return DType::kFloat64;
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return DType::kFloat32;
    default:
      return DType::kInt64;
  }
}

template <class Op>
void ScanAxis(const KernelContext& ctx, const Tensor& x,
              std::optional<int64_t> axis, Tensor* out) {
  if (x.numel() == 0) return;
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  const DType accumulator = AccumulatorOf(out->dtype());
  const Tensor from = x.dtype() == accumulator
                          ? Contiguous(x)
                          : Contiguous(cast(x, accumulator));
  const bool direct = out->dtype() == accumulator;
  const Tensor to =
      direct ? *out : Tensor::Empty(out->shape(), accumulator, ctx.place);
  int64_t outer = 1, n = x.numel(), inner = 1;
  if (axis.has_value() && x.rank() > 0) {
    const int a = static_cast<int>(*axis < 0 ? *axis + x.rank() : *axis);
    n = x.size(a);
    for (int d = 0; d < a; ++d) outer *= x.size(d);
    for (int d = a + 1; d < x.rank(); ++d) inner *= x.size(d);
  }
  const auto scan = [&]<class T>(Tag<T>) {
    Scan<Op>(ctx, from.data<T>(), to.data<T>(), outer, n, inner);
  };
  switch (accumulator) {
    case DType::kInt64:
      scan(Tag<int64_t>{});
      break;
    case DType::kFloat32:
      scan(Tag<float>{});
      break;
    default:
      scan(Tag<double>{});
  }
  if (!direct) CopyInto(cast(to, out->dtype()), *out);
}

}  // namespace

void Cumsum(const KernelContext& ctx, const Tensor& x,
            std::optional<int64_t> axis, std::optional<DType>, Tensor* out) {
  ScanAxis<Plus>(ctx, x, axis, out);
}

void Cumprod(const KernelContext& ctx, const Tensor& x,
             std::optional<int64_t> dim, std::optional<DType>, Tensor* out) {
  ScanAxis<Times>(ctx, x, dim, out);
}

}  // namespace proa::inline v0::ops::cuda
