// BlockCache: an Allocator over any source of memory, also such that the host
// cannot read: whole blocks are kept by size and handed out again, bookkeeping
// is apart.
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

#include "tensor/allocator.h"

namespace proa::inline v0 {

class BlockCache final : public Allocator {
 public:
  struct Source {
    std::function<void*(int64_t bytes)> allocate;  // null if there is no more
    std::function<void(void*)> free;
    // Waits until no work uses blocks that were freed; before they go back.
    std::function<void()> finish;
  };

  // `name`: of the device, for errors.
  BlockCache(std::string name, Source source);
  ~BlockCache() override;  // gives the kept blocks back

  void* Allocate(int64_t bytes) override;
  void Free(void* p, int64_t bytes) noexcept override;
  MemoryFigures Figures() const override;
  void ResetPeak() override;
  void SetCap(int64_t bytes) override;
  int64_t Release() override;

 private:
  void* TakeKept(int64_t size);
  void* TakeNew(int64_t size);
  int64_t ReleaseLocked();

  const std::string name_;
  const Source source_;
  mutable std::mutex mutex_;
  std::multimap<int64_t, void*> kept_;       // by size
  std::unordered_map<void*, int64_t> live_;  // handed out, with sizes
  MemoryFigures figures_;
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_BLOCK_CACHE_H_
