#include "tensor/tensor.h"

#include <cstring>
#include <string>

#include "tensor/block_pool.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/scalar.h"

namespace proa::inline v0 {
namespace {

using ImplPool =
    BlockPool<sizeof(TensorImpl), alignof(TensorImpl), 1024, TensorImpl>;

// Throws unless all elements of the view lie in [0, bytes). `first`: offset of
// its first element in the storage, in elements.
void CheckInside(const char* what, const Shape& shape, const Strides& strides,
                 int64_t first, int64_t item_size, int64_t bytes) {
  PROA_REQUIRE(strides.size() == shape.dims().size(), what, ": ",
               strides.size(), " strides for ", shape.rank(),
               " dims; shape is ", ToString(shape));
  for (int64_t d : shape) {
    if (d == 0) return;  // no elements
  }
  // In 128 bits: the strides may be anything. Each dim only widens the span, so
  // the first one that leaves the storage decides, before sums overflow too.
  __int128 low = first, high = first;
  const int64_t limit = bytes / item_size;
  bool inside = low >= 0 && high < limit;
  for (int i = 0; inside && i < shape.rank(); ++i) {
    const __int128 reach = static_cast<__int128>(shape[i] - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
    inside = low >= 0 && high < limit;
  }
  if (!inside) {
    FailArgument(what, ": view leaves its storage of ", bytes,
                 " bytes; shape is ", ToString(shape), ", strides are ",
                 ToString(std::span<const int64_t>(strides)), ", offset is ",
                 first, ", item size is ", item_size);
  }
}

int64_t CheckedNumel(const char* what, const Shape& shape) {
  const int64_t n = shape.numel();
  if (n < 0) [[unlikely]] {
    FailArgument(what, ": shape ", ToString(shape),
                 " has an unknown or negative size");
  }
  return n;
}

}  // namespace

TensorImpl* TensorImpl::New() { return new (ImplPool::Take()) TensorImpl; }

void TensorImpl::Destroy(TensorImpl* impl) {
  impl->~TensorImpl();
  ImplPool::Give(impl);
}

Tensor Tensor::Empty(const Shape& shape, DType dtype, Place place) {
  const int64_t n = CheckedNumel("empty", shape);
  int64_t bytes;
  if (shape.rank() > kMaxRank ||
      __builtin_mul_overflow(n, ItemSize(dtype), &bytes)) [[unlikely]] {
    PROA_REQUIRE(shape.rank() <= kMaxRank, "empty: ", shape.rank(),
                 " dims are more than the ", kMaxRank, " that are supported");
    FailArgument("empty: size overflows int64; shape is ", ToString(shape), " ",
                 Name(dtype));
  }
  Strides strides = ContiguousStrides(shape);  // may throw: before the object
  IntrusivePtr<Storage> storage = Storage::Allocate(bytes, place);
  TensorImpl* impl =
      new (ImplPool::Take()) TensorImpl(shape, std::move(strides));
  impl->dtype = dtype;
  impl->place = place;
  impl->numel = n;
  impl->data = n > 0 ? static_cast<char*>(storage->data()) : nullptr;
  impl->storage = std::move(storage);
  return Tensor(IntrusivePtr<TensorImpl>::Adopt(impl));
}

Tensor Tensor::FromStorage(IntrusivePtr<Storage> storage, DType dtype,
                           const Shape& shape, const Strides& strides,
                           int64_t offset_elements) {
  const int64_t n = CheckedNumel("from_storage", shape);
  PROA_REQUIRE(
      storage && offset_elements >= 0 && shape.rank() <= kMaxRank,
      "from_storage: needs a storage, an offset of at least 0 and at most ",
      kMaxRank, " dims; shape is ", ToString(shape), ", offset is ",
      offset_elements);
  CheckInside("from_storage", shape, strides, offset_elements, ItemSize(dtype),
              storage->bytes());
  TensorImpl* impl = new (ImplPool::Take()) TensorImpl(shape, Strides(strides));
  impl->dtype = dtype;
  impl->place = storage->place();
  impl->contiguous = IsContiguous(shape, strides);
  impl->numel = n;
  impl->data = n > 0 ? static_cast<char*>(storage->data()) +
                           offset_elements * ItemSize(dtype)
                     : nullptr;
  impl->storage = std::move(storage);
  return Tensor(IntrusivePtr<TensorImpl>::Adopt(impl));
}

Tensor Tensor::Symbolic(const Shape& shape, DType dtype, Place place) {
  const int64_t n = shape.numel();  // checks the sizes
  // Strides mean nothing before the sizes are known; plain ones where they are.
  Strides strides =
      n >= 0 ? ContiguousStrides(shape) : Strides(shape.rank(), 0);
  TensorImpl* impl =
      new (ImplPool::Take()) TensorImpl(shape, std::move(strides));
  impl->dtype = dtype;
  impl->place = place;
  impl->numel = n;
  return Tensor(IntrusivePtr<TensorImpl>::Adopt(impl));
}

int64_t Tensor::storage_offset() const {
  if (impl_->data == nullptr || !impl_->storage) return 0;
  return (impl_->data - static_cast<char*>(impl_->storage->data())) /
         ItemSize(impl_->dtype);
}

Tensor Tensor::AsStrided(const Shape& shape, const Strides& strides,
                         int64_t offset_elements) const {
  const int64_t n = CheckedNumel("as_strided", shape);
  PROA_REQUIRE(impl_->storage && impl_->layout == Layout::kStrided,
               "as_strided: needs a tensor with a storage and strides; x is ",
               Describe(*this));
  PROA_REQUIRE(shape.rank() <= kMaxRank, "as_strided: ", shape.rank(),
               " dims are more than the ", kMaxRank, " that are supported");
  int64_t first;
  PROA_REQUIRE(
      !__builtin_add_overflow(storage_offset(), offset_elements, &first),
      "as_strided: offset ", offset_elements, " is out of range");
  CheckInside("as_strided", shape, strides, first, ItemSize(impl_->dtype),
              impl_->storage->bytes());
  TensorImpl* impl = new (ImplPool::Take()) TensorImpl(shape, Strides(strides));
  impl->dtype = impl_->dtype;
  impl->place = impl_->place;
  impl->contiguous = IsContiguous(shape, strides);
  impl->is_view = true;
  impl->numel = n;
  impl->data = n > 0 ? static_cast<char*>(impl_->storage->data()) +
                           first * ItemSize(impl_->dtype)
                     : nullptr;
  impl->storage = impl_->storage;
  return Tensor(IntrusivePtr<TensorImpl>::Adopt(impl));
}

Tensor Tensor::Alias() const {
  TensorImpl* impl =
      new (ImplPool::Take()) TensorImpl(impl_->shape, Strides(impl_->strides));
  impl->flags = impl_->flags & ~kDifferentiate;
  impl->dtype = impl_->dtype;
  impl->layout = impl_->layout;
  impl->place = impl_->place;
  impl->contiguous = impl_->contiguous;
  impl->is_view = impl_->is_view;
  impl->numel = impl_->numel;
  impl->data = impl_->data;
  impl->storage = impl_->storage;
  impl->symbol = impl_->symbol;
  impl->layout_data = impl_->layout_data;
  return Tensor(IntrusivePtr<TensorImpl>::Adopt(impl));
}

void LinkView(const Tensor& view, const Tensor& base) {
  TensorImpl* from = base.impl()->root ? base.impl()->root.get() : base.impl();
  TensorImpl* impl = view.impl();
  if (impl == from || !impl->storage || impl->storage != from->storage ||
      !IsDifferentiable(impl->dtype)) {
    return;
  }
  impl->root = IntrusivePtr<TensorImpl>::Share(from);
}

template <typename T>
T Tensor::item() const {
  PROA_REQUIRE(defined(), "item: tensor is None");
  PROA_REQUIRE(impl_->numel == 1 && impl_->data != nullptr,
               "item: needs a tensor of one element with data; x is ",
               Describe(*this));
  alignas(16) char bytes[16];
  if (impl_->place.is_cpu()) {
    std::memcpy(bytes, impl_->data, ItemSize(impl_->dtype));
  } else {
    DeviceRuntime& runtime = RuntimeOf(impl_->place);
    const int device = impl_->place.index;
    const StreamHandle stream = runtime.current_stream(device);
    runtime.CopyToHost(device, bytes, impl_->data, ItemSize(impl_->dtype),
                       stream);
    runtime.SynchronizeStream(device, stream);
  }
  return VisitDType(impl_->dtype, [&]<typename E>(TypeTag<E>) -> T {
    E element;
    std::memcpy(&element, bytes, sizeof(E));
    if constexpr (std::is_same_v<E, T>) {
      return element;
    } else {
      return proa::Scalar(element).to<T>();
    }
  });
}

#define PROA_INSTANTIATE_ITEM(e, T, name, kind) \
  template T Tensor::item<T>() const;
PROA_FOR_EACH_DTYPE(PROA_INSTANTIATE_ITEM)
#undef PROA_INSTANTIATE_ITEM

std::string Describe(const Tensor& t) {
  if (!t.defined()) return "None";
  std::string text = ToString(t.shape());
  text += ' ';
  text += Name(t.dtype());
  if (!t.place().is_cpu()) text += ", " + ToString(t.place());
  return text;
}

}  // namespace proa::inline v0
