#include "amp/cast_cache.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ops/elementwise/cast_ops.h"
#include "tensor/interpreters.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace proa::inline v0::amp {
namespace {

struct Kept {
  IntrusivePtr<Storage> source;  // so that no other memory has its address
  uint32_t version = 0;
  Shape shape;
  DType dtype = DType::kFloat32;
  Tensor value;  // without a history
  uint32_t value_version = 0;

  bool Is(const Tensor& t) const {
    return source.get() == t.storage().get() && version == t.version() &&
           dtype == t.dtype() && shape == t.shape() &&
           value.version() == value_version;
  }
};

class Cache {
 public:
  // The elements of `t` in `dtype`, which nobody may change.
  Tensor Get(const Tensor& t, DType dtype) {
    Kept& kept = kept_[{t.raw_data(), dtype}];
    if (!kept.value.defined() || !kept.Is(t)) {
      kept.value = Tensor();  // before its successor is made
      const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
      Tensor value = ops::cast(t, dtype);
      const uint32_t made = value.version();
      kept = {t.storage(), t.version(),      t.shape(),
              t.dtype(),   std::move(value), made};
    }
    Tensor value = kept.value.Alias();
    if (static_cast<int64_t>(kept_.size()) > limit_) Sweep();
    return value;
  }
  int64_t size() const { return static_cast<int64_t>(kept_.size()); }

 private:
  // Drops what nobody can ask for any more: a program that stays inside of
  // autocast would else keep every leaf that it ever had.
  void Sweep() {
    absl::erase_if(kept_, [](const auto& item) {
      const Kept& kept = item.second;
      return !kept.source || kept.source->use_count() == 1;
    });
    limit_ = std::max(kFirstLimit, 2 * size());
  }

  static constexpr int64_t kFirstLimit = 64;
  int64_t limit_ = kFirstLimit;
  absl::flat_hash_map<std::pair<const void*, DType>, Kept> kept_;
};

// Null outside of autocast. No destructor of a thread: memory would go when the
// thread's pools have gone.
thread_local constinit Cache* cache = nullptr;

constinit CastHistory installed = {};

bool IsKept(const Tensor& t) {
  return t.layout() == Layout::kStrided && t.is_contiguous() &&
         t.raw_data() != nullptr && !t.is_symbolic() &&
         (thread_interpreters.forced & kRecord) == 0 && !t.impl()->root &&
         installed.is_parameter != nullptr && installed.is_parameter(t);
}

}  // namespace

bool BeginCastCache() {
  if (cache != nullptr) return false;
  cache = new Cache;
  return true;
}

void EndCastCache() { delete std::exchange(cache, nullptr); }

Tensor CastOnce(const Tensor& t, DType dtype) {
  if (cache == nullptr || !IsKept(t)) return ops::cast(t, dtype);
  const Tensor value = cache->Get(t, dtype);
  const bool recorded = GradEnabled() && (t.flags() & kDifferentiate) != 0;
  return recorded ? installed.record(t, value) : value;
}

void InstallCastHistory(const CastHistory& history) { installed = history; }

int64_t NumKeptCasts() { return cache == nullptr ? 0 : cache->size(); }

}  // namespace proa::inline v0::amp
