#include "tensor/dlpack.h"

#include <cstdint>
#include <utility>

#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/shared_memory.h"
#include "tensor/storage.h"
#include "tensor/strided_copy.h"

namespace proa::inline v0 {
namespace {

using dlpack::DLTensor;
using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;

// What a produced struct points into.
struct Exported {
  explicit Exported(const Tensor& t)
      : tensor(t), shape(t.shape().dims()), strides(t.strides()) {
    MarkShared(*t.storage());
  }
  DLTensor Describe() {
    return {.data = tensor.raw_data(),
            .device = DLPackDevice(tensor.place()),
            .ndim = tensor.rank(),
            .dtype = DLPackType(tensor.dtype()),
            .shape = shape.data(),
            .strides = strides.data(),
            .byte_offset = 0};
  }

  const Tensor tensor;
  DimVector shape;
  Strides strides;
};

// Struct and what it points into, in one object.
template <typename Managed>
struct Holder : Managed {
  explicit Holder(const Tensor& t) : Managed{}, exported(t) {
    this->dl_tensor = exported.Describe();
    this->manager_ctx = this;
    this->deleter = [](Managed* self) { delete static_cast<Holder*>(self); };
  }
  Exported exported;
};

void CheckExportable(const Tensor& t) {
  PROA_REQUIRE(t.defined() && t.storage(),
               "dlpack: needs a tensor with elements; x is ", Describe(t));
  PROA_REQUIRE(t.layout() != Layout::kRowSparse,
               "dlpack: x is row-sparse: of its rows only some are held; "
               "export all of them, x.to_dense(), or its parts; x is ",
               Describe(t));
  PROA_REQUIRE(t.layout() == Layout::kStrided,
               "dlpack: x has a blocked layout; make it plain first; x is ",
               Describe(t));
}

// Release function of a storage; the deleter may be null.
template <typename Managed>
std::function<void()> Releaser(Managed* managed) {
  return [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
}

Strides StridesOf(const DLTensor& dl, const Shape& shape) {
  if (dl.strides == nullptr) return ContiguousStrides(shape);
  return Strides(dl.strides, dl.strides + dl.ndim);
}

Shape ShapeOf(const DLTensor& dl) {
  PROA_REQUIRE(dl.ndim >= 0 && dl.ndim <= kMaxRank, "dlpack: ", dl.ndim,
               " dims; 0 to ", kMaxRank, " are supported");
  PROA_REQUIRE(dl.ndim == 0 || dl.shape != nullptr, "dlpack: ", dl.ndim,
               " dims, but no shape");
  Shape shape(std::span<const int64_t>(dl.shape, static_cast<size_t>(dl.ndim)));
  for (int64_t d : shape) {
    PROA_REQUIRE(d >= 0, "dlpack: size ", d, " in ", ToString(shape),
                 " is negative");
  }
  return shape;
}

Tensor Import(const DLTensor& dl, bool read_only,
              std::function<void()> release) {
  const DType dtype = DTypeOfDLPack(dl.dtype);
  const Place place = PlaceOfDLPack(dl.device);
  const Shape shape = ShapeOf(dl);
  const int64_t n = shape.numel();
  const Strides strides =
      n > 0 ? StridesOf(dl, shape) : ContiguousStrides(shape);
  const int64_t item = ItemSize(dtype);
  const ElementSpan span = SpanOf(shape, strides);
  PROA_REQUIRE(span.low != INT64_MIN, "dlpack: strides overflow int64");
  const int64_t bytes = CheckedMul(CheckedAdd(span.high, -span.low), item);
  PROA_REQUIRE(n == 0 || dl.data != nullptr, "dlpack: no data for shape ",
               ToString(shape));
  const uintptr_t first = reinterpret_cast<uintptr_t>(dl.data) + dl.byte_offset;
  const int64_t alignment = IsComplex(dtype) ? item / 2 : item;
  PROA_REQUIRE(n == 0 || first % alignment == 0, "dlpack: elements of type ",
               Name(dtype), " are not aligned to ", alignment,
               " bytes; copy the array first");
  char* low =
      n == 0 ? nullptr : reinterpret_cast<char*>(first) + span.low * item;
  auto storage = Storage::Wrap(low, bytes, place, nullptr, read_only);
  Tensor t = Tensor::FromStorage(storage, dtype, shape, strides, -span.low);
  // Only now, when nothing can fail any more, is the memory ours to give back.
  storage->set_release(std::move(release));
  return t;
}

}  // namespace

ManagedTensorVersioned* ToDLPack(const Tensor& t, bool copied) {
  CheckExportable(t);
  auto* holder = new Holder<ManagedTensorVersioned>(t);
  holder->version = dlpack::kVersion;
  holder->flags = (t.storage()->read_only() ? dlpack::kFlagReadOnly : 0) |
                  (copied ? dlpack::kFlagIsCopied : 0);
  return holder;
}

ManagedTensor* ToDLPackLegacy(const Tensor& t) {
  CheckExportable(t);
  PROA_REQUIRE(!t.storage()->read_only(),
               "dlpack: x is read-only, which DLPack before 1.0 cannot say; "
               "copy it, or ask for max_version=(1, 0); x is ",
               Describe(t));
  return new Holder<ManagedTensor>(t);
}

Tensor FromDLPack(ManagedTensorVersioned* managed) {
  PROA_REQUIRE(managed != nullptr, "dlpack: no tensor");
  PROA_REQUIRE(managed->version.major == dlpack::kVersion.major,
               "dlpack: version ", managed->version.major, ".",
               managed->version.minor, " is not supported; this is ",
               dlpack::kVersion.major, ".", dlpack::kVersion.minor);
  return Import(managed->dl_tensor,
                (managed->flags & dlpack::kFlagReadOnly) != 0,
                Releaser(managed));
}

Tensor FromDLPack(ManagedTensor* managed) {
  PROA_REQUIRE(managed != nullptr, "dlpack: no tensor");
  return Import(managed->dl_tensor, /*read_only=*/false, Releaser(managed));
}

dlpack::Device DLPackDevice(Place place) {
  const int32_t type = place.is_cpu()                   ? dlpack::kCPU
                       : place.kind == DeviceKind::kGPU ? dlpack::kCUDA
                                                        : dlpack::kExtDev;
  return {type, place.index};
}

Place PlaceOfDLPack(dlpack::Device device) {
  switch (device.device_type) {
    case dlpack::kCPU:
    case dlpack::kCUDAHost:
      return Place{};
    case dlpack::kCUDA:
    case dlpack::kCUDAManaged:
      PROA_REQUIRE(device.device_id >= 0 && device.device_id <= INT16_MAX,
                   "dlpack: device index ", device.device_id,
                   " is out of range");
      return Place{DeviceKind::kGPU, static_cast<int16_t>(device.device_id)};
    default:
      FailArgument("dlpack: device type ", device.device_type,
                   " is not supported; copy the array to cpu or gpu first");
  }
}

dlpack::DataType DLPackType(DType dtype) {
  const DTypeInfo& info = Info(dtype);
  uint8_t code = dlpack::kInt;
  switch (info.kind) {
    case 'b':
      code = dlpack::kBool;
      break;
    case 'u':
      code = dlpack::kUInt;
      break;
    case 'f':
      code = dtype == DType::kBFloat16 ? dlpack::kBfloat : dlpack::kFloat;
      break;
    case 'c':
      code = dlpack::kComplex;
      break;
  }
  return {code, static_cast<uint8_t>(info.item_size * 8), 1};
}

DType DTypeOfDLPack(dlpack::DataType type) {
  PROA_REQUIRE(type.lanes == 1, "dlpack: vector types of ", type.lanes,
               " lanes are not supported");
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const dlpack::DataType ours = DLPackType(dtype);
    if (ours.code == type.code && ours.bits == type.bits) return dtype;
  }
  FailArgument("dlpack: type with code ", static_cast<int>(type.code), " and ",
               static_cast<int>(type.bits), " bits is not supported");
}

}  // namespace proa::inline v0
