// BlockCache: an Allocator over any source of memory, also such that the host
// cannot read: whole blocks are kept by size and handed out again, bookkeeping
// is apart.
//
// A block goes at once to work of the stream that had it before, and to that of
// another one after an order between the two (Source::order), so it is offered
// to its own stream first.
//
// Blocks are not split. Sizes are rounded up, to 512 bytes and for large blocks
// to 2 MiB, so that similar requests meet. The CPU has its own allocator.
#ifndef PROA_TENSOR_BLOCK_CACHE_H_
#define PROA_TENSOR_BLOCK_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/container/inlined_vector.h"
#include "tensor/allocator.h"

namespace proa::inline v0 {

class BlockCache final : public Allocator {
 public:
  struct Source {
    std::function<void*(int64_t bytes)> allocate;  // null if there is no more
    std::function<void(void*)> free;
    // Waits until no work uses blocks that were freed; before they go back.
    std::function<void()> finish;
    // The stream that this thread works on. Unset: there is only one.
    std::function<StreamTag*()> stream = [] { return nullptr; };
    // What `later` is given from now on waits for what `earlier` has.
    std::function<void(StreamTag* earlier, StreamTag* later)> order =
        [](StreamTag*, StreamTag*) {};
  };

  // `name`: of the device, for errors.
  BlockCache(std::string name, Source source);
  ~BlockCache() override;  // gives the kept blocks back

  void* Allocate(int64_t bytes) override;
  void Free(void* p, int64_t bytes) noexcept override;
  void UseOn(void* p, StreamTag* stream) override;
  // The stream's work is done, and it will be no more: nobody waits for it.
  void ForgetStream(StreamTag* stream) noexcept;
  MemoryFigures Figures() const override;
  void ResetPeak() override;
  void SetCap(int64_t bytes) override;
  int64_t Release() override;

 private:
  struct Block {
    int64_t size;
    // Whose work uses it: the first is the one it was asked for on.
    absl::InlinedVector<StreamTag*, 2> streams;
  };
  struct Kept {
    void* p;
    absl::InlinedVector<StreamTag*, 2> streams;
  };

  void* TakeKept(int64_t size, StreamTag* stream);
  void* TakeNew(int64_t size, StreamTag* stream);
  int64_t ReleaseLocked();

  const std::string name_;
  const Source source_;
  mutable std::mutex mutex_;
  std::multimap<int64_t, Kept> kept_;      // by size
  std::unordered_map<void*, Block> live_;  // handed out
  MemoryFigures figures_;
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_BLOCK_CACHE_H_
