// Kernels of mask.yaml: elements chosen by a condition. Sizes that depend on
// values are waited for.
#include <cstdint>
#include <type_traits>

#include "ops/indexing/mask_kernels.h"
#include "ops/primitives/cuda/compact.cuh"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/primitives/device/copy.h"
#include "tensor/cuda/fault.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cuda {
namespace {

struct Flags {
  const uint8_t* flags;
  __device__ bool operator()(int64_t i) const { return flags[i] != 0; }
};

// Elements that are not zero: with a bit set other than the sign of a float.
template <class Bits>
struct NotZero {
  const Bits* x;
  uint64_t bits;
  __device__ bool operator()(int64_t i) const {
    if constexpr (std::is_integral_v<Bits>) {
      return (x[i] & bits) != 0;
    } else {
      return ((x[i].words[0] | x[i].words[1]) & bits) != 0;
    }
  }
};

uint64_t BitsThatCount(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
      return 0x7fff;
    case DType::kFloat32:
      return 0x7fffffff;
    case DType::kComplex64:
      return 0x7fffffff7fffffff;
    case DType::kFloat64:
    case DType::kComplex128:
      return 0x7fffffffffffffff;
    default:
      return ~uint64_t{0};
  }
}

struct WriteIndices {
  int64_t* out;
  int rank;
  int64_t sizes[kMaxRank];
  __device__ void operator()(int64_t i, int64_t k) const {
    int64_t* row = out + k * rank;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t rest = i / sizes[d];
      row[d] = i - rest * sizes[d];
      i = rest;
    }
  }
};

template <class Item>
struct Pick {
  const Item* from;
  Item* to;
  __device__ void operator()(int64_t i, int64_t k) const { to[k] = from[i]; }
};

// `size` elements are given; the mask may choose another number.
template <class Item>
struct Return {
  const Item* from;
  Item* to;
  int64_t size;
  __device__ void operator()(int64_t i, int64_t k) const {
    if (k < size) to[i] = from[k];
  }
};

__global__ void CompareCounts(const char* op, const int64_t* chosen,
                              int64_t size, CudaFaultSink sink) {
  if (*chosen == size) return;
  sink.Report({CudaFault::kChosen, 0, op, *chosen, 0, size, 0.0});
}

}  // namespace

void Nonzero(const KernelContext& ctx, const Tensor& x, Tensor* out) {
  VisitSize(ItemSize(x.dtype()), [&]<class Bits>(Tag<Bits>) {
    const Compaction<NotZero<Bits>> chosen(
        ctx, {static_cast<const Bits*>(x.raw_data()), BitsThatCount(x.dtype())},
        x.numel());
    *out = Tensor::Empty({chosen.CountOnHost(), x.rank()}, DType::kInt64,
                         ctx.place);
    if (out->numel() == 0) return;
    WriteIndices write{out->data<int64_t>(), x.rank(), {}};
    for (int d = 0; d < x.rank(); ++d) write.sizes[d] = x.size(d);
    chosen.Run(write);
  });
}

void MaskedSelect(const KernelContext& ctx, const Tensor& x, const Tensor& mask,
                  Tensor* out) {
  const Shape shape = BroadcastShapes("masked_select", x.shape(), mask.shape());
  const Tensor all = device::Broadcast(x, shape);
  const Tensor flags = device::Broadcast(mask, shape);
  const Compaction<Flags> chosen(
      ctx, {static_cast<const uint8_t*>(flags.raw_data())}, shape.numel());
  *out = Tensor::Empty({chosen.CountOnHost()}, x.dtype(), ctx.place);
  if (out->numel() == 0) return;
  VisitSize(ItemSize(x.dtype()), [&]<class Item>(Tag<Item>) {
    chosen.Run(Pick<Item>{static_cast<const Item*>(all.raw_data()),
                          static_cast<Item*>(out->raw_data())});
  });
}

void MaskedSelectGrad(const KernelContext& ctx, const Tensor& dy,
                      const Tensor& mask, const IntArray&, Tensor* out) {
  const Tensor flags = device::Broadcast(mask, out->shape());
  device::Zero(ctx, *out);
  const Compaction<Flags> chosen(
      ctx, {static_cast<const uint8_t*>(flags.raw_data())}, out->numel());
  CompareCounts<<<1, 1, 0, StreamOf(ctx)>>>(
      "masked_select_grad", chosen.count_on_device(), dy.numel(),
      CudaFaultSinkOf(ctx.place.index));
  CheckLaunch("counts of masked_select_grad");
  ThrowCudaFaultOfLaunch(ctx.place.index);
  VisitSize(ItemSize(dy.dtype()), [&]<class Item>(Tag<Item>) {
    chosen.Run(Return<Item>{static_cast<const Item*>(dy.raw_data()),
                            static_cast<Item*>(out->raw_data()), dy.numel()});
  });
}

}  // namespace proa::inline v0::ops::cuda
