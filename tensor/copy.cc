#include "tensor/copy.h"

#include <cstdint>

#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/strided_copy.h"

namespace proa::inline v0 {
namespace {

void CheckPlain(const Tensor& x) {
  PROA_REQUIRE(x.defined(), "copy: tensor is None");
  PROA_REQUIRE(static_cast<bool>(x.storage()),
               "copy: x is symbolic and has no "
               "elements; x is ",
               Describe(x));
}

bool IsStrided(const Tensor& x) { return x.layout() == Layout::kStrided; }

// Of a tensor of another layout; it may lie in another place than `x`.
Tensor Strided(const Tensor& x) { return x.impl()->layout_data->ToStrided(x); }

ElementSpan SpanInStorage(const Tensor& x) {
  ElementSpan span = SpanOf(x.shape(), x.strides());
  const int64_t offset = x.storage_offset();
  return {span.low + offset, span.high + offset};
}

bool SharesElements(const Tensor& dst) {
  for (int i = 0; i < dst.rank(); ++i) {
    if (dst.strides()[i] == 0 && dst.size(i) > 1) return true;
  }
  return false;
}

bool MayOverlap(const Tensor& a, const Tensor& b) {
  if (!(a.storage() == b.storage())) return false;
  const ElementSpan x = SpanInStorage(a), y = SpanInStorage(b);
  return x.low < y.high && y.low < x.high;
}

void HostCopy(const Tensor& src, const Tensor& dst) {
  StridedCopy(dst.raw_data(), dst.strides(), src.raw_data(), src.strides(),
              src.shape(), ItemSize(src.dtype()));
}

// One device of one runtime, and the stream that the core uses there.
struct Device {
  explicit Device(Place place)
      : runtime(RuntimeOf(place)),
        index(place.index),
        stream(runtime.current_stream(index)) {}
  void Wait() { runtime.SynchronizeStream(index, stream); }
  // The stream works on memory that may have come from another one.
  void Use(const Tensor& x) { x.storage()->UseOn(stream); }
  // Keeps host memory until the stream has passed this point.
  void Hold(const IntrusivePtr<Storage>& storage) {
    Storage* held = IntrusivePtr<Storage>(storage).release();
    runtime.LaunchHostFunction(
        index, stream,
        [](void* p) {
          IntrusivePtr<Storage>::Adopt(static_cast<Storage*>(p)) = nullptr;
        },
        held);
  }

  DeviceRuntime& runtime;
  int index;
  StreamHandle stream;
};

// The part of the storage that `x` touches, on the host, seen with x's strides.
Tensor FetchSpan(const Tensor& x) {
  const ElementSpan span = SpanOf(x.shape(), x.strides());
  const int64_t item = ItemSize(x.dtype());
  const int64_t bytes = (span.high - span.low) * item;
  IntrusivePtr<Storage> host = Storage::Allocate(bytes, Place{});
  if (bytes > 0) {
    Device device(x.place());
    device.Use(x);
    device.runtime.CopyToHost(
        device.index, host->data(),
        static_cast<char*>(x.raw_data()) + span.low * item, bytes,
        device.stream);
    device.Wait();
  }
  return Tensor::FromStorage(std::move(host), x.dtype(), x.shape(), x.strides(),
                             -span.low);
}

void HostToDevice(const Tensor& src, const Tensor& dst, bool blocking) {
  const Tensor plain = Contiguous(src);
  Device device(dst.place());
  device.Use(dst);
  if (plain.bytes() <= DeviceRuntime::kMaxValueBytes) {
    return device.runtime.CopyValueToDevice(device.index, dst.raw_data(),
                                            plain.raw_data(), plain.bytes(),
                                            device.stream);
  }
  device.runtime.CopyToDevice(device.index, dst.raw_data(), plain.raw_data(),
                              plain.bytes(), device.stream);
  if (blocking) {
    device.Wait();
  } else {
    device.Hold(plain.storage());
  }
}

void DeviceToHost(const Tensor& src, const Tensor& dst, bool blocking) {
  if (!dst.is_contiguous()) return HostCopy(FetchSpan(src), dst);
  Device device(src.place());
  device.Use(src);
  device.runtime.CopyToHost(device.index, dst.raw_data(), src.raw_data(),
                            src.bytes(), device.stream);
  if (blocking) {
    device.Wait();
  } else {
    device.Hold(dst.storage());
  }
}

// Both contiguous, on different devices of any runtimes.
void DeviceToDevice(const Tensor& src, const Tensor& dst) {
  if (src.place().kind == dst.place().kind) {
    RuntimeOf(src.place())
        .CopyPeer(dst.place().index, dst.raw_data(), src.place().index,
                  src.raw_data(), src.bytes());
  } else {
    HostToDevice(CopyTo(src, Place{}), dst, /*blocking=*/true);
  }
}

// On one device. False if its runtime cannot copy strided tensors.
bool CopyWithin(const Tensor& src, const Tensor& dst) {
  Device device(src.place());
  device.Use(src);
  device.Use(dst);
  if (src.is_contiguous() && dst.is_contiguous()) {
    device.runtime.CopyOnDevice(device.index, dst.raw_data(), src.raw_data(),
                                src.bytes(), device.stream);
    return true;
  }
  Strides from = src.strides(), to = dst.strides();
  const int64_t item = ItemSize(src.dtype());
  for (int64_t& s : from) s *= item;
  for (int64_t& s : to) s *= item;
  return device.runtime.CopyStrided(
      device.index, dst.raw_data(), to.data(), src.raw_data(), from.data(),
      src.shape().data(), src.rank(), item, device.stream);
}

// The way through the host, for strided tensors that a runtime cannot copy.
void CopyThroughHost(const Tensor& src, const Tensor& dst) {
  const Tensor from = src.place().is_cpu() ? src : FetchSpan(src);
  if (dst.place().is_cpu()) return HostCopy(from, dst);
  if (dst.is_contiguous()) return HostToDevice(from, dst, /*blocking=*/true);
  // What lies between the elements of dst must stay as it is.
  const Tensor to = FetchSpan(dst);
  HostCopy(from, to);
  const ElementSpan span = SpanOf(dst.shape(), dst.strides());
  Device device(dst.place());
  device.Use(dst);
  device.runtime.CopyToDevice(
      device.index,
      static_cast<char*>(dst.raw_data()) + span.low * ItemSize(dst.dtype()),
      to.storage()->data(), to.storage()->bytes(), device.stream);
  device.Wait();
}

}  // namespace

void CopyInto(const Tensor& src, const Tensor& dst, bool blocking) {
  if (src.defined() && !IsStrided(src)) [[unlikely]] {
    return CopyInto(Strided(src), dst, blocking);
  }
  PROA_REQUIRE(!dst.defined() || IsStrided(dst),
               "copy: dst is row-sparse or blocked and cannot be overwritten; "
               "make it dense first; dst is ",
               Describe(dst));
  CheckPlain(src);
  CheckPlain(dst);
  PROA_REQUIRE(src.shape() == dst.shape() && src.dtype() == dst.dtype(),
               "copy: shapes and dtypes differ; src is ", Describe(src),
               ", dst is ", Describe(dst));
  PROA_REQUIRE(!dst.storage()->read_only(),
               "copy: dst lies in read-only memory; copy it first; dst is ",
               Describe(dst));
  if (src.numel() == 0) return;
  PROA_REQUIRE(!SharesElements(dst),
               "copy: dst is broadcast, several of its "
               "elements are one in memory; copy it first; dst is ",
               Describe(dst));
  if (MayOverlap(src, dst)) {
    if (src.raw_data() == dst.raw_data() && src.strides() == dst.strides())
      return;
    return CopyInto(CopyTo(src, src.place()), dst, blocking);
  }
  const bool from_cpu = src.place().is_cpu(), to_cpu = dst.place().is_cpu();
  if (from_cpu && to_cpu) return HostCopy(src, dst);
  if (from_cpu && dst.is_contiguous()) return HostToDevice(src, dst, blocking);
  if (to_cpu && src.is_contiguous()) return DeviceToHost(src, dst, blocking);
  if (src.place() == dst.place() && CopyWithin(src, dst)) {
    if (blocking) Device(dst.place()).Wait();
    return;
  }
  if (!from_cpu && !to_cpu && src.is_contiguous() && dst.is_contiguous()) {
    return DeviceToDevice(src, dst);
  }
  CopyThroughHost(src, dst);
}

Tensor CopyTo(const Tensor& x, Place place, bool blocking) {
  if (x.defined() && !IsStrided(x)) [[unlikely]] {
    Tensor strided = Strided(x);
    return strided.place() == place ? strided
                                    : CopyTo(strided, place, blocking);
  }
  CheckPlain(x);
  Tensor out = Tensor::Empty(x.shape(), x.dtype(), place);
  CopyInto(x, out, blocking);
  return out;
}

Tensor Contiguous(const Tensor& x) {
  PROA_REQUIRE(x.defined(), "contiguous: tensor is None");
  if (x.is_contiguous() && IsStrided(x)) return x;
  return CopyTo(x, x.place(), /*blocking=*/false);
}

}  // namespace proa::inline v0
