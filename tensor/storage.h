// Storage: the counted block of bytes behind one or more tensors (views share
// it), with the place it lies in and the version counter of its contents.
#ifndef PROA_TENSOR_STORAGE_H_
#define PROA_TENSOR_STORAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "tensor/intrusive_ptr.h"
#include "tensor/place.h"

namespace proa::inline v0 {

struct StreamTag;  // tensor/device.h

class Storage final : public RefCounted {
 public:
  // Uninitialized memory from the caching allocator of the place. Small CPU
  // blocks lie behind the Storage object itself, in one pooled allocation.
  // Throws Error kResourceExhausted with what was asked, held and could be
  // released.
  static IntrusivePtr<Storage> Allocate(int64_t bytes, Place place);

  // Memory that somebody else owns; `release` is called when the storage goes.
  // `read_only` memory may not be changed in place (DLPack, NumPy flags).
  static IntrusivePtr<Storage> Wrap(void* data, int64_t bytes, Place place,
                                    std::function<void()> release,
                                    bool read_only = false);

  // Replaces the `release` of a wrapped storage: for callers that may only give
  // the memory back once all that can fail is done.
  void set_release(std::function<void()> release) {
    *release_ = std::move(release);
  }

  // Work of `stream` of its device uses the memory too, and may still do so
  // when the storage goes: Allocator::UseOn. Wrapped memory is its owner's
  // care.
  void UseOn(StreamTag* stream);

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Place place() const { return place_; }
  bool read_only() const { return read_only_; }

  // Counts in-place changes; a saved tensor compares it.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void BumpVersion() { version_.fetch_add(1, std::memory_order_relaxed); }
  // Only where no node can have saved the elements: it hides changes.
  void ResetVersion() { version_.store(0, std::memory_order_relaxed); }
  // The op that made the last in-place change, for error messages; may be null.
  const char* last_writer() const {
    return last_writer_.load(std::memory_order_relaxed);
  }
  void set_last_writer(const char* op) {
    last_writer_.store(op, std::memory_order_relaxed);
  }

  static void Destroy(Storage* storage);

 private:
  Storage() = default;
  ~Storage() = default;
  enum class Kind : uint8_t { kPooled, kAllocator, kWrapped };

  void* data_ = nullptr;
  int64_t bytes_ = 0;
  Place place_;
  Kind kind_ = Kind::kPooled;
  bool read_only_ = false;
  std::atomic<uint32_t> version_{0};
  std::atomic<const char*> last_writer_{nullptr};
  std::function<void()>* release_ = nullptr;  // kWrapped only
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_STORAGE_H_
