// Counted pointer to an object that carries its own count (RefCounted). The
// count and the object are one allocation, which a pool can serve.
#ifndef PROA_TENSOR_INTRUSIVE_PTR_H_
#define PROA_TENSOR_INTRUSIVE_PTR_H_

#include <atomic>
#include <cstdint>
#include <utility>

namespace proa::inline v0 {

// Base of counted objects. T must have `static void Destroy(T*)`, called when
// the last reference goes.
class RefCounted {
 public:
  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // True if this was the last reference.
  bool DropRef() const {
    // A sole owner needs no atomic read-modify-write.
    if (refs_.load(std::memory_order_acquire) == 1) return true;
    return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  int32_t use_count() const { return refs_.load(std::memory_order_relaxed); }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

 private:
  mutable std::atomic<int32_t> refs_{1};
};

template <typename T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  // Takes over the reference that `p` was made with.
  static IntrusivePtr Adopt(T* p) {
    IntrusivePtr r;
    r.p_ = p;
    return r;
  }
  // Adds a reference.
  static IntrusivePtr Share(T* p) {
    if (p != nullptr) p->AddRef();
    return Adopt(p);
  }
  IntrusivePtr(const IntrusivePtr& o) : p_(o.p_) {
    if (p_ != nullptr) p_->AddRef();
  }
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <typename U>
  requires std::is_convertible_v<U*, T*> IntrusivePtr(IntrusivePtr<U> o)
      : p_(o.release()) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() {
    if (p_ != nullptr && p_->DropRef()) T::Destroy(p_);
  }

  T* get() const { return p_; }
  T* release() { return std::exchange(p_, nullptr); }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) {
    return a.p_ == b.p_;
  }

 private:
  T* p_ = nullptr;
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_INTRUSIVE_PTR_H_
