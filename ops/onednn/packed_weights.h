// PackedWeights: the elements of a weight in the format that a primitive wants,
// or in the order of a kernel's own loops, kept as long as the weight is not
// changed.
//
// The first call for a version of a weight reorders into memory of its own, the
// second keeps what it made, and from then on nothing is done: so inference
// reorders nothing, and training, where each step changes the weight, holds no
// second copy of it. Weights that lie in a file (tensor/file_memory.h) predict:
// what is made of them is kept at once, and their pages are forgotten. Weights
// in memory that others can write without our
// noticing (imported, or exported by DLPack) are never kept.
#ifndef PROA_OPS_ONEDNN_PACKED_WEIGHTS_H_
#define PROA_OPS_ONEDNN_PACKED_WEIGHTS_H_

#include <array>
#include <cstdint>

#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/intrusive_ptr.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0::onednn {

// What is wanted of a weight.
struct PackFormat {
  dnnl::memory::desc from;  // how the contiguous weight is read
  dnnl::memory::desc to;
  // Of the inner dims of the weight, how many elements are first turned round
  // (the taps of a kernel); 1 for none.
  int64_t flip = 1;
  // Undefined, or [rows], float64 on the CPU: what each row of the weight,
  // float32 then, is first multiplied by.
  Tensor scale = {};
  // `scale` is another one once it has been changed.
  uint32_t scale_version = scale.defined() ? scale.version() : 0;
};

// An order of a kernel's own: which one it is say `pack` and `parameters`.
struct PackOrder {
  // Writes `bytes` bytes.
  void (*pack)(const Tensor& weight, const PackOrder& order, void* to);
  std::array<int64_t, 4> parameters;
  int64_t bytes;
};

// Holds the elements for as long as it lives. `weight` is contiguous, on the
// CPU; for a format, of 2 or 4 bytes an element. Thread-safe.
class PackedWeights {
 public:
  PackedWeights(const Tensor& weight, const PackFormat& format);
  PackedWeights(const Tensor& weight, const PackOrder& order);
  void* data() const { return data_; }

 private:
  IntrusivePtr<Storage> storage_;
  void* data_;
};

// Whether it is known of `weight` that it predicts (pack_at_once.h, or it lies
// in a file): what is made of it is kept from the first call on. Thread-safe.
bool Predicts(const Tensor& weight);

// For tests: how many packed weights are kept now.
int64_t CountKeptWeights();

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_PACKED_WEIGHTS_H_
