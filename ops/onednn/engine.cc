#include "ops/onednn/engine.h"

namespace proa::inline v0::onednn {

const dnnl::engine& Engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

const dnnl::stream& Stream() {
  static const auto* stream = new dnnl::stream(Engine());
  return *stream;
}

}  // namespace proa::inline v0::onednn
