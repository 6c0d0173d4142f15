// Primitive: a compiled oneDNN operation, and how to run it on raw pointers.
//
// An argument may be declared with the layout that the caller has it in; where
// oneDNN computes in another (blocked) one, Execute reorders through scratch
// memory.
#ifndef PROA_OPS_ONEDNN_PRIMITIVE_H_
#define PROA_OPS_ONEDNN_PRIMITIVE_H_

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {

// Declares argument `id` (DNNL_ARG_SRC and the like) of a primitive.
struct Parameter {
  int id;
  // The caller's layout; without it the caller's memory is as oneDNN wants it.
  std::optional<dnnl::memory::desc> layout = std::nullopt;
  bool output = false;
};

// An argument of Execute: where the elements are.
struct Argument {
  int id;
  void* data;
};

// Immutable once built; Execute may be called from several threads at once.
class Primitive {
 public:
  // oneDNN has no implementation for the problem on this machine.
  Primitive() = default;
  template <typename PrimitiveType, typename PrimitiveDesc>
  static Primitive Of(const PrimitiveDesc& pd,
                      std::initializer_list<Parameter> parameters) {
    return Primitive(PrimitiveType(pd), pd, parameters);
  }
  Primitive(Primitive&&) noexcept = default;

  bool supported() const { return static_cast<bool>(primitive_); }
  // oneDNN's name of it: "jit:avx2", "x64:gemm:jit"; empty if not supported.
  std::string_view implementation() const {
    return supported() ? implementation_ : "";
  }

  // The format that it computes argument `id`, a declared one, in.
  const dnnl::memory::desc& desc(int id) const;

  // Runs it; scratch memory comes from the caching allocator. Every declared
  // parameter must be given.
  void Execute(std::initializer_list<Argument> args) const;

 private:
  struct Slot {
    int id;
    bool output;
    dnnl::memory::desc desc;    // what oneDNN computes in
    dnnl::memory::desc layout;  // what the caller has
    dnnl::primitive reorder;    // between the two; null if they are the same
    int64_t bytes;              // of `desc`
    bool dense;                 // no elements of others between those of `desc`
  };
  // oneDNN's memory objects for one run. Making one costs as much as a small
  // product, so the last one used is kept.
  class Frame;
  struct FrameSlot {
    FrameSlot() = default;
    FrameSlot(FrameSlot&& o) noexcept : frame(o.frame.exchange(nullptr)) {}
    ~FrameSlot();
    std::atomic<Frame*> frame{nullptr};
  };

  Primitive(dnnl::primitive primitive, const dnnl::primitive_desc_base& pd,
            std::initializer_list<Parameter> parameters);
  // The same in guarded buffers (ops/onednn/guards.h).
  void ExecuteGuarded(std::initializer_list<Argument> args) const;

  dnnl::primitive primitive_;
  const char* implementation_ = nullptr;  // "brg:avx512_core"
  absl::InlinedVector<Slot, 6> slots_;
  dnnl::memory::desc scratchpad_;
  int64_t scratchpad_bytes_ = 0;
  bool reorders_ = false;
  mutable FrameSlot spare_;
};

// The attribute that every primitive here is built with: scratch memory is
// ours.
dnnl::primitive_attr UserScratchpad();

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_PRIMITIVE_H_
