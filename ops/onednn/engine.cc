#include "ops/onednn/engine.h"

namespace proa::inline v0::onednn {

const dnnl::engine& Engine() {
  static const auto* engine = [] {
    // What is compiled is kept by our own cache. oneDNN's keeps a promise that
    // nobody will fulfil where making a primitive throws for lack of memory,
    // and so would fail for that problem ever after.
    dnnl::set_primitive_cache_capacity(0);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *engine;
}

const dnnl::stream& Stream() {
  static const auto* stream = new dnnl::stream(Engine());
  return *stream;
}

namespace {

// Made at load, the engine with it; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Stream();

}  // namespace

}  // namespace proa::inline v0::onednn
