// Tensor: a counted handle over a storage and its description (dtype, shape,
// strides, place). Copying a Tensor copies the handle, not the elements.
//
//   Tensor a = Tensor::Empty({2, 3}, DType::kFloat32);
//   std::fill_n(a.data<float>(), a.numel(), 1.f);
//   Tensor b = a.AsStrided({3, 2}, {1, 3}, 0);   // a transposed view
//
// A *symbolic* tensor is the same class with a program value and no storage;
// its dims may be kUnknownDim. Grad state and program values hang on the tensor
// as opaque extensions, which their rooms define; this room knows neither. A
// Tensor may be read from many threads; changing one needs the caller's lock.
#ifndef PROA_TENSOR_TENSOR_H_
#define PROA_TENSOR_TENSOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "tensor/dtype.h"
#include "tensor/interpreters.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/place.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace proa::inline v0 {

// State that another room hangs on a tensor.
class TensorExtension {
 public:
  virtual ~TensorExtension() = default;
  // The state of a second handle of the same value; null if there is none.
  virtual std::unique_ptr<TensorExtension> Share() const { return nullptr; }
};

// How the elements lie in the storage. Blocked formats are opaque to all but
// the backend that made them; of a row-sparse tensor only some rows are held
// (row_sparse.h). Who does not know a layout gets a strided tensor, by
// Contiguous().
enum class Layout : uint8_t { kStrided, kBlocked, kRowSparse };

class Tensor;

// What a tensor of a layout other than kStrided needs to be read.
class LayoutData : public TensorExtension {
 public:
  // All elements of `t`, whose data this is: strided, in new memory of any
  // place.
  virtual Tensor ToStrided(const Tensor& t) const = 0;
};

// What a kernel must know to make a tensor: result of shape inference.
struct TensorMeta {
  Shape shape;
  DType dtype = DType::kFloat32;
  Place place;
};

class TensorImpl final : public RefCounted {
 public:
  static TensorImpl* New();  // from the thread's pool
  static void Destroy(TensorImpl* impl);

  Interpreters flags = 0;  // the interpreters that this tensor switches on
  DType dtype = DType::kFloat32;
  Layout layout = Layout::kStrided;
  Place place;
  bool contiguous = true;  // strided, row-major
  bool is_view = false;    // shares its storage by a view op
  // Of a tensor with views: the interpreters that it switches on for them too,
  // because what they show was changed in place (autograd/inplace.h). Atomic,
  // because its views may be used and changed by several threads.
  std::atomic<Interpreters> view_flags{0};
  Shape shape;
  Strides strides;
  int64_t numel = 1;
  char* data = nullptr;  // first element; null for symbolic and empty tensors
  IntrusivePtr<Storage> storage;
  // Of a linked view (LinkView): the tensor whose elements it shows, which is
  // no linked view itself. So there are no chains and no cycles.
  IntrusivePtr<TensorImpl> root;
  std::unique_ptr<TensorExtension> autograd;  // autograd::GradState
  // jit::Symbol; immutable, shared by every alias of the program value.
  std::shared_ptr<const TensorExtension> symbol;
  // What a layout other than kStrided needs to be read; null for kStrided.
  std::shared_ptr<const LayoutData> layout_data;
  void* python_object = nullptr;  // not owned

 private:
  friend class Tensor;
  TensorImpl() = default;
  TensorImpl(const Shape& s, Strides&& t) : shape(s), strides(std::move(t)) {}
  ~TensorImpl() = default;
};

class Tensor {
 public:
  Tensor() = default;  // undefined: no description at all
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}

  // Uninitialized, contiguous. Throws Error for negative or overflowing sizes.
  static Tensor Empty(const Shape& shape, DType dtype, Place place = {});
  // 0-d, e.g. Tensor::Scalar(1.5f).
  template <typename T>
  static Tensor Scalar(T value) {
    Tensor t = Empty({}, kDTypeOf<T>);
    *t.data<T>() = value;
    return t;
  }
  // Over memory of the caller (see Storage::Wrap); strides in elements.
  static Tensor FromStorage(IntrusivePtr<Storage> storage, DType dtype,
                            const Shape& shape, const Strides& strides,
                            int64_t offset_elements = 0);
  // No storage; shape may hold kUnknownDim. The caller sets flags and symbol.
  static Tensor Symbolic(const Shape& shape, DType dtype, Place place = {});

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const { return defined(); }

  DType dtype() const { return impl_->dtype; }
  Place place() const { return impl_->place; }
  Layout layout() const { return impl_->layout; }
  const Shape& shape() const { return impl_->shape; }
  const Strides& strides() const { return impl_->strides; }
  int rank() const { return impl_->shape.rank(); }
  int64_t size(int i) const { return impl_->shape[i]; }
  int64_t numel() const { return impl_->numel; }
  int64_t bytes() const { return impl_->numel * ItemSize(impl_->dtype); }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_symbolic() const { return (impl_->flags & kRecord) != 0; }
  bool is_view() const { return impl_->is_view; }
  Interpreters flags() const {
    if (!impl_) return 0;
    if (!impl_->root) [[likely]]
      return impl_->flags;
    return impl_->flags |
           impl_->root->view_flags.load(std::memory_order_relaxed);
  }

  void* raw_data() const { return impl_->data; }
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(impl_->data);
  }
  // The one element of a one-element CPU tensor, converted to T (waits for the
  // device when the tensor lies elsewhere). Throws Error for other sizes.
  template <typename T>
  T item() const;

  const IntrusivePtr<Storage>& storage() const { return impl_->storage; }
  // Offset of the first element in the storage, in elements.
  int64_t storage_offset() const;
  uint32_t version() const {
    return impl_->storage ? impl_->storage->version() : 0;
  }

  // A view of the same storage; offset in elements from this tensor's first
  // element. The caller guarantees that it stays inside the storage (checked:
  // an Error, never out of bounds).
  Tensor AsStrided(const Shape& shape, const Strides& strides,
                   int64_t offset_elements) const;
  // A new handle and description over the same storage, without grad state and
  // linked to nothing.
  Tensor Alias() const;

  // The same handle (not just equal elements).
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }
  TensorImpl* impl() const { return impl_.get(); }
  IntrusivePtr<TensorImpl> release() { return std::move(impl_); }

 private:
  IntrusivePtr<TensorImpl> impl_;
};

// Notes that `view` shows elements of `base` (or of that which `base` is a
// linked view of), so that a recorded in-place change of one is a change of the
// other: view ops call it while grad is on. Nothing happens if they share no
// storage, or for a dtype that is not differentiable.
void LinkView(const Tensor& view, const Tensor& base);

// "[2, 3] float32" (", gpu:0" when not on the CPU): as error messages name it;
// "None" for an undefined tensor.
std::string Describe(const Tensor& t);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_TENSOR_H_
