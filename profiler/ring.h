// Ring: the last so many entries that one thread wrote, for other threads to
// read, without a lock on either side. Private to this room.
//
// Memory is reserved at once and taken page by page as it is written; when it
// is full, each new entry takes the place of the oldest. A reader copies what
// is there and throws away entries that may have been overwritten meanwhile.
#ifndef PROA_PROFILER_RING_H_
#define PROA_PROFILER_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace proa::inline v0::profiler::internal {

class Ring {
 public:
  // Eight words, one cache line; what they mean is the recorder's affair.
  static constexpr int kWords = 8;
  static constexpr size_t kEntryBytes = kWords * sizeof(uint64_t);
  using Entry = std::array<uint64_t, kWords>;

  // Room for `capacity` >= 0 entries; for none if the system has no memory.
  explicit Ring(int64_t capacity);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // By the owning thread only.
  void Push(const Entry& entry) {
    const uint64_t n = written_.load(std::memory_order_relaxed);
    started_.store(n + 1, std::memory_order_relaxed);
    if (capacity_ > 0) [[likely]] {
      std::atomic<uint64_t>* slot = words_ + next_ * kWords;
      // Released, each of them, so that whoever reads a new word also sees that
      // number `n` had been started. On x86 these are plain stores.
      for (int i = 0; i < kWords; ++i) {
        slot[i].store(entry[i], std::memory_order_release);
      }
      if (++next_ == capacity_) next_ = 0;
    }
    written_.store(n + 1, std::memory_order_release);
  }

  // By any thread. Calls `f(entry)` for the entries that are there, oldest
  // first; returns how many were written in all, those that are lost among
  // them.
  template <typename F>
  int64_t Read(F&& f) const {
    const uint64_t end = written_.load(std::memory_order_acquire);
    if (capacity_ == 0) return static_cast<int64_t>(end);
    uint64_t n = end > capacity_ ? end - capacity_ : 0;
    for (; n < end; ++n) {
      const std::atomic<uint64_t>* slot = words_ + n % capacity_ * kWords;
      Entry entry;
      for (int i = 0; i < kWords; ++i) {
        entry[i] = slot[i].load(std::memory_order_acquire);
      }
      // Overwritten meanwhile, or about to be.
      if (started_.load(std::memory_order_relaxed) > n + capacity_) continue;
      f(entry);
    }
    return static_cast<int64_t>(end);
  }

  // Gives the memory of the entries back; by a thread that knows that nobody
  // reads or writes any more. The ring can be written on.
  void Discard();

  int64_t capacity() const { return static_cast<int64_t>(capacity_); }
  int64_t written() const {
    return static_cast<int64_t>(written_.load(std::memory_order_acquire));
  }

 private:
  std::atomic<uint64_t>* words_ = nullptr;
  size_t capacity_ = 0;
  size_t next_ = 0;
  std::atomic<uint64_t> started_{0};
  std::atomic<uint64_t> written_{0};
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
};

}  // namespace proa::inline v0::profiler::internal

#endif  // PROA_PROFILER_RING_H_
