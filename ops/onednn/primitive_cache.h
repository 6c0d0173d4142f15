// PrimitiveCache: the compiled oneDNN primitives of the process, least recently
// used ones dropped first. Compiling one takes 20 us to 10 ms, finding one 50
// ns.
//
//   auto p = PrimitiveCache::Global().FindOrMake(key, [&] {
//     dnnl::matmul::primitive_desc pd(...);
//     return Primitive::Of<dnnl::matmul>(pd, {{DNNL_ARG_SRC}, ...});
//   });
//   p->Execute({{DNNL_ARG_SRC, x}, ...});
//
// Programs with many shapes stay bounded: at most `capacity` primitives are
// kept. Thread-safe; `make` runs without the lock, so two threads may compile
// the same problem once each.
#ifndef PROA_OPS_ONEDNN_PRIMITIVE_CACHE_H_
#define PROA_OPS_ONEDNN_PRIMITIVE_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>

#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_key.h"

namespace proa::inline v0::onednn {

struct PrimitiveCacheStats {
  int64_t size = 0;
  int64_t capacity = 0;
  int64_t hits = 0;
  int64_t misses = 0;
};

class PrimitiveCache {
 public:
  static constexpr int kDefaultCapacity = 1024;

  explicit PrimitiveCache(int64_t capacity = kDefaultCapacity)
      : capacity_(capacity) {}
  static PrimitiveCache& Global();

  // `make` returns a Primitive; a dnnl::error `unimplemented` thrown by it is
  // remembered as an unsupported Primitive, other errors become proa::Error.
  template <typename Make>
  std::shared_ptr<const Primitive> FindOrMake(const PrimitiveKey& key,
                                              const Make& make) {
    if (auto p = Find(key)) return p;
    return Insert(
        key,
        Build([](const void* f) { return (*static_cast<const Make*>(f))(); },
              &make));
  }

  PrimitiveCacheStats stats() const;
  // Drops what is too much; 0 keeps nothing.
  void SetCapacity(int64_t capacity);
  void Clear();

 private:
  struct Entry {
    PrimitiveKey key;
    std::shared_ptr<const Primitive> primitive;
  };
  struct KeyHash {
    size_t operator()(const PrimitiveKey* k) const { return k->Hash(); }
  };
  struct KeyEqual {
    bool operator()(const PrimitiveKey* a, const PrimitiveKey* b) const {
      return *a == *b;
    }
  };

  static Primitive Build(Primitive (*make)(const void*), const void* closure);
  std::shared_ptr<const Primitive> Find(const PrimitiveKey& key);
  std::shared_ptr<const Primitive> Insert(const PrimitiveKey& key, Primitive p);
  void Evict();  // with the lock held

  mutable std::mutex mutex_;
  int64_t capacity_;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  std::list<Entry> entries_;  // most recently used first
  // Keys are those inside entries_, whose nodes do not move.
  std::unordered_map<const PrimitiveKey*, std::list<Entry>::iterator, KeyHash,
                     KeyEqual>
      index_;
};

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_PRIMITIVE_CACHE_H_
