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
    Tensor value = Renewed(kept_[{t.raw_data(), dtype}], t, dtype);
    if (static_cast<int64_t>(kept_.size()) > limit_) Sweep();
    return value;
  }
  // The same, kept until the next call.
  Tensor GetLast(const Tensor& t, DType dtype) {
    const std::pair<const void*, DType> key = {t.raw_data(), dtype};
    if (last_key_ != key) last_.value = Tensor();
    last_key_ = key;
    return Renewed(last_, t, dtype);
  }
  int64_t size() const { return static_cast<int64_t>(kept_.size()); }

 private:
  static Tensor Renewed(Kept& kept, const Tensor& t, DType dtype) {
    if (!kept.value.defined() || !kept.Is(t)) {
      kept.value = Tensor();  // before its successor is made
      const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
      Tensor value = ops::cast(t, dtype);
      const uint32_t made = value.version();
      kept = {t.storage(), t.version(),      t.shape(),
              t.dtype(),   std::move(value), made};
    }
    return kept.value.Alias();
  }
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
  std::pair<const void*, DType> last_key_ = {nullptr, DType::kBool};
  Kept last_;
};

// Null outside of autocast. No destructor of a thread: memory would go when the
// thread's pools have gone.
thread_local constinit Cache* cache = nullptr;

constinit CastHistory installed = {};

// Whether casts of `t` may be kept at all, as far as its memory goes.
bool MayKeep(const Tensor& t) {
  return t.layout() == Layout::kStrided && t.is_contiguous() &&
         t.raw_data() != nullptr && !t.is_symbolic() &&
         (thread_interpreters.forced & kRecord) == 0 && !t.impl()->root &&
         installed.is_parameter != nullptr;
}

}  // namespace

bool BeginCastCache() {
  if (cache != nullptr) return false;
  cache = new Cache;
  return true;
}

void EndCastCache() { delete std::exchange(cache, nullptr); }

Tensor CastOnce(const Tensor& t, DType dtype) {
  if (cache == nullptr || !MayKeep(t)) return ops::cast(t, dtype);
  const bool recorded = GradEnabled() && (t.flags() & kDifferentiate) != 0;
  Tensor value;
  if (installed.is_parameter(t)) {
    value = cache->Get(t, dtype);
  } else if (recorded && installed.is_result(t)) {
    value = cache->GetLast(t, dtype);
  } else {
    return ops::cast(t, dtype);
  }
  return recorded ? installed.record(t, value) : value;
}

void InstallCastHistory(const CastHistory& history) { installed = history; }

int64_t NumKeptCasts() { return cache == nullptr ? 0 : cache->size(); }

}  // namespace proa::inline v0::amp
