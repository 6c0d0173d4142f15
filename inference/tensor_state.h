// What stands behind an inference::Tensor; of this room.
#ifndef PROA_INFERENCE_TENSOR_STATE_H_
#define PROA_INFERENCE_TENSOR_STATE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "inference/types.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {

class TensorState {
 public:
  enum class Kind { kFree, kInput, kOutput };

  // `declared`: what the model says of it; of a free one, nothing.
  TensorState(std::string name, TensorMeta declared, Kind kind)
      : name_(std::move(name)), declared_(std::move(declared)), kind_(kind) {}

  const std::string& name() const { return name_; }
  DataType type() const;
  std::vector<int64_t> shape() const;
  int64_t numel() const;
  void Reshape(const std::vector<int64_t>& shape);
  // `bytes` negative: as many as the shape needs.
  void CopyFrom(const void* data, int64_t bytes, DataType type);
  void CopyTo(void* data, int64_t bytes, DataType type) const;
  void Share(const void* data, const std::vector<int64_t>& shape,
             DataType type);
  void* MutableData(DataType type);
  const void* Data(DataType type) const;
  void SetLoD(std::vector<std::vector<size_t>> lod);
  std::vector<std::vector<size_t>> lod() const;

  // What a run takes and leaves. Undefined while there are no elements;
  // `refused` says why if it was tried to give it some.
  proa::Tensor Take() const;
  std::string refused() const;
  void Give(proa::Tensor t);
  void Clear();

 private:
  // Calls f, which writes. If it fails there are no elements: who does not look
  // whether it failed, as in C, is not to compute with those of before.
  template <typename F>
  void Write(const F& f);
  void CheckType(DataType type) const;
  void CheckShape(const Shape& given) const;
  void CheckWritable(const char* what) const;
  // Elements of `type` that may be written: those there are if `keep`.
  void Prepare(DataType type, bool keep);

  const std::string name_;
  const TensorMeta declared_;
  const Kind kind_;
  mutable std::mutex mutex_;    // of what follows
  std::optional<DType> dtype_;  // of a free one, once it is known
  std::optional<Shape> shape_;  // as Reshape said
  proa::Tensor tensor_;         // contiguous, on the CPU
  bool external_ = false;
  std::string refused_;
  std::vector<std::vector<size_t>> lod_;
};

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_TENSOR_STATE_H_
