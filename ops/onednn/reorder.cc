#include "ops/onednn/reorder.h"

#include <cstdint>

#include "glog/logging.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/primitive_key.h"
#include "ops/onednn/threads.h"
#include "tensor/error.h"

namespace proa::inline v0::onednn {
namespace {

// Formats of strides and blocks, which are all that we meet.
void AddFormat(const dnnl::memory::desc& format, PrimitiveKey& key) {
  const dnnl_memory_desc_t& d = format.data;
  CHECK_EQ(d.format_kind, dnnl_blocked);
  CHECK_EQ(d.extra.flags, 0u);
  key.Add(int64_t{d.ndims});
  key.Add(int64_t{d.data_type});
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  for (int i = 0; i < d.ndims; ++i) {
    key.Add(int64_t{d.dims[i]});
    key.Add(int64_t{d.padded_dims[i]});
    key.Add(int64_t{d.padded_offsets[i]});
    key.Add(int64_t{b.strides[i]});
  }
  key.Add(int64_t{d.offset0});
  key.Add(int64_t{b.inner_nblks});
  for (int i = 0; i < b.inner_nblks; ++i) {
    key.Add(int64_t{b.inner_blks[i]});
    key.Add(int64_t{b.inner_idxs[i]});
  }
}

Primitive Make(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const dnnl::reorder::primitive_desc pd(Engine(), from, Engine(), to,
                                         UserScratchpad());
  return Primitive::Of<dnnl::reorder>(
      pd, {{DNNL_ARG_FROM}, {DNNL_ARG_TO, {}, true}});
}

}  // namespace

void Reorder(const dnnl::memory::desc& from, const void* source,
             const dnnl::memory::desc& to, void* target) {
  PrimitiveKey key(PrimitiveKind::kReorder);
  key.Add(int64_t{NumThreads()});
  AddFormat(from, key);
  AddFormat(to, key);
  const auto primitive =
      PrimitiveCache::Global().FindOrMake(key, [&] { return Make(from, to); });
  PROA_REQUIRE(primitive->supported(),
               "oneDNN: no reorder between these formats");
  primitive->Execute(
      {{DNNL_ARG_FROM, const_cast<void*>(source)}, {DNNL_ARG_TO, target}});
}

}  // namespace proa::inline v0::onednn
