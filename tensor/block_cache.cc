#include "tensor/block_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "glog/logging.h"

namespace proa::inline v0 {
namespace {

constexpr int64_t kLarge = int64_t{1} << 20;
constexpr int64_t kMostBytes = int64_t{1} << 46;

int64_t RoundSize(int64_t bytes) {
  const int64_t to = bytes < kLarge ? 512 : int64_t{2} << 20;
  return (bytes + to - 1) / to * to;
}

}  // namespace

BlockCache::BlockCache(std::string name, Source source)
    : name_(std::move(name)), source_(std::move(source)) {}

BlockCache::~BlockCache() { Release(); }

void* BlockCache::TakeKept(int64_t size, StreamTag* stream) {
  // A block much too large is better left for a request of its size.
  const auto begin = kept_.lower_bound(size);
  const auto end = kept_.upper_bound(size + size / 4);
  if (begin == end) return nullptr;
  const auto own = std::find_if(begin, end, [&](const auto& kept) {
    return kept.second.streams.size() == 1 && kept.second.streams[0] == stream;
  });
  const auto it = own == end ? begin : own;
  for (StreamTag* other : it->second.streams) {
    if (other != stream) source_.order(other, stream);
  }
  void* p = it->second.p;
  live_.emplace(p, Block{it->first, {stream}});
  kept_.erase(it);
  return p;
}

void* BlockCache::TakeNew(int64_t size, StreamTag* stream) {
  if (figures_.reserved > figures_.cap - size) ReleaseLocked();
  if (figures_.reserved > figures_.cap - size) return nullptr;
  void* p = source_.allocate(size);
  if (p == nullptr && ReleaseLocked() > 0) p = source_.allocate(size);
  if (p == nullptr) return nullptr;
  try {
    live_.emplace(p, Block{size, {stream}});
  } catch (const std::bad_alloc&) {
    source_.free(p);
    throw;
  }
  figures_.reserved += size;
  figures_.peak_reserved = std::max(figures_.peak_reserved, figures_.reserved);
  return p;
}

void* BlockCache::Allocate(int64_t bytes) {
  std::unique_lock lock(mutex_);
  void* p = nullptr;
  if (bytes < kMostBytes) {
    const int64_t size = RoundSize(bytes);
    StreamTag* const stream = source_.stream();
    p = TakeKept(size, stream);
    if (p == nullptr) p = TakeNew(size, stream);
  }
  if (p == nullptr) {
    lock.unlock();
    FailAllocation(name_, bytes, Figures());
  }
  figures_.allocated += live_.at(p).size;
  figures_.peak_allocated =
      std::max(figures_.peak_allocated, figures_.allocated);
  ++figures_.allocations;
  return p;
}

void BlockCache::Free(void* p, int64_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  const auto it = live_.find(p);
  CHECK(it != live_.end()) << name_ << ": freed twice, or not from here";
  const int64_t size = it->second.size;
  figures_.allocated -= size;
  Kept kept{p, std::move(it->second.streams)};
  live_.erase(it);
  try {
    kept_.emplace(size, std::move(kept));
  } catch (const std::bad_alloc&) {  // the host has no memory to note it in
    source_.finish();
    source_.free(p);
    figures_.reserved -= size;
  }
}

void BlockCache::UseOn(void* p, StreamTag* stream) {
  std::lock_guard lock(mutex_);
  const auto it = live_.find(p);
  CHECK(it != live_.end()) << name_ << ": used after it was freed";
  auto& streams = it->second.streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    streams.push_back(stream);
  }
}

void BlockCache::ForgetStream(StreamTag* stream) noexcept {
  std::lock_guard lock(mutex_);
  const auto forget = [&](auto& streams) {
    streams.erase(std::remove(streams.begin(), streams.end(), stream),
                  streams.end());
  };
  for (auto& [size, kept] : kept_) forget(kept.streams);
  for (auto& [p, block] : live_) forget(block.streams);
}

MemoryFigures BlockCache::Figures() const {
  std::lock_guard lock(mutex_);
  MemoryFigures f = figures_;
  f.releasable = f.reserved - f.allocated;
  f.largest_free = kept_.empty() ? 0 : kept_.rbegin()->first;
  return f;
}

void BlockCache::ResetPeak() {
  std::lock_guard lock(mutex_);
  figures_.peak_allocated = figures_.allocated;
  figures_.peak_reserved = figures_.reserved;
}

void BlockCache::SetCap(int64_t bytes) {
  std::lock_guard lock(mutex_);
  figures_.cap = std::max<int64_t>(bytes, 0);
}

int64_t BlockCache::Release() {
  std::lock_guard lock(mutex_);
  return ReleaseLocked();
}

int64_t BlockCache::ReleaseLocked() {
  if (kept_.empty()) return 0;
  source_.finish();
  int64_t released = 0;
  for (const auto& [size, kept] : kept_) {
    source_.free(kept.p);
    released += size;
  }
  kept_.clear();
  figures_.reserved -= released;
  return released;
}

}  // namespace proa::inline v0
