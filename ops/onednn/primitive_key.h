// PrimitiveKey: what identifies a compiled oneDNN primitive: its kind and the
// numbers (dtypes, dims, strides, attributes) that it was compiled for. A plain
// array on the stack: building, hashing and comparing one allocates nothing.
//
//   PrimitiveKey key(PrimitiveKind::kMatMul);
//   key.Add(dtype); key.Add(dims); key.Add(strides);
#ifndef PROA_OPS_ONEDNN_PRIMITIVE_KEY_H_
#define PROA_OPS_ONEDNN_PRIMITIVE_KEY_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::onednn {

enum class PrimitiveKind : int64_t {
  kMatMul,
  kConvolution,
  kConvolutionInputGrad,
  kConvolutionWeightGrad,
  kMaxPool,
  kAveragePool,
  kAveragePoolGrad,
  kSoftmax,
  kLogSoftmax,
  kBatchNorm,
  kBatchNormGrad,
  kLayerNorm,
  kReorder,
};

class PrimitiveKey {
 public:
  // Enough for three tensors of 12 dims with strides and some attributes.
  static constexpr int kCapacity = 96;

  explicit PrimitiveKey(PrimitiveKind kind) { Add(static_cast<int64_t>(kind)); }
  PrimitiveKey(const PrimitiveKey& o) : size_(o.size_) {
    std::memcpy(words_, o.words_, Used() * sizeof(int64_t));
  }
  PrimitiveKey& operator=(const PrimitiveKey& o) {
    size_ = o.size_;
    std::memmove(words_, o.words_, Used() * sizeof(int64_t));
    return *this;
  }

  void Add(int64_t v) {
    if (size_ < kCapacity) words_[size_] = v;
    ++size_;
  }
  void Add(DType t) { Add(static_cast<int64_t>(t)); }
  void Add(double v) { Add(std::bit_cast<int64_t>(v)); }
  // Length-prefixed, so that two lists never run into each other.
  void Add(std::span<const int64_t> v) {
    Add(static_cast<int64_t>(v.size()));
    for (int64_t x : v) Add(x);
  }
  void AddTensor(const Tensor& t) {
    Add(t.dtype());
    Add(t.shape().span());
    for (int64_t s : t.strides()) Add(s);
  }

  // False if more was added than fits; such a primitive is not cached.
  bool fits() const { return size_ <= kCapacity; }

  uint64_t Hash() const {
    // Products of independent pairs, so that none waits for another.
    const int n = Used();
    uint64_t h = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(n);
    for (int i = 0; i + 1 < n; i += 2) h += Mix(words_[i], words_[i + 1], i);
    if (n % 2 != 0) h += Mix(words_[n - 1], 0, n);
    return h ^ (h >> 32);
  }
  friend bool operator==(const PrimitiveKey& a, const PrimitiveKey& b) {
    return a.size_ == b.size_ &&
           std::memcmp(a.words_, b.words_, a.Used() * sizeof(int64_t)) == 0;
  }

 private:
  // The halves of a 128-bit product, each factor made odd by its place.
  static uint64_t Mix(int64_t a, int64_t b, int place) {
    const uint64_t salt = 0xd6e8feb86659fd93u * (2 * place + 1);
    const auto product =
        static_cast<unsigned __int128>(static_cast<uint64_t>(a) ^ salt) *
        (static_cast<uint64_t>(b) ^ (salt >> 7));
    return static_cast<uint64_t>(product) ^
           static_cast<uint64_t>(product >> 64);
  }
  int Used() const { return size_ < kCapacity ? size_ : kCapacity; }

  int size_ = 0;
  int64_t words_[kCapacity];  // the first size_ are set
};

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_PRIMITIVE_KEY_H_
