// Tensors as PaddlePaddle 1.x and 2.x saved them: a stream of tensors, one
// after another, in one file (`.pdiparams`, `__params__`) or in a file each.
// A tensor: version (uint32), levels of sequences (uint64, each with its size),
// version (uint32), size of a description (int32), a TensorDesc, the elements.
#ifndef PROA_JIT_REFERENCE_PARAMETERS_H_
#define PROA_JIT_REFERENCE_PARAMETERS_H_

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace proa::inline v0::jit::reference {

class TensorStream {
 public:
  // `what` names the file in errors.
  TensorStream(std::string_view bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  // The bytes that were read.
  size_t at() const { return at_; }
  bool AtEnd() const { return at_ == bytes_.size(); }
  // The next tensor, a copy; `name` is what the error says.
  Tensor Next(const std::string& name);

 private:
  template <typename T>
  T Number(const std::string& name);
  std::string_view Take(uint64_t n, const std::string& name);

  std::string_view bytes_;
  std::string what_;
  size_t at_ = 0;
};

void AppendTensor(const Tensor& t, std::string& bytes);

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_PARAMETERS_H_
