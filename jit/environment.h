// Environment: the tensor of each value of a program while it is evaluated.
//
// What is worked out about a block the first time that it is evaluated
// (prepared_block.h) stays here: an environment that is used again, by the
// next run or the next turn of a loop, finds it. A copy has the tensors alone.
#ifndef PROA_JIT_ENVIRONMENT_H_
#define PROA_JIT_ENVIRONMENT_H_

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

struct PreparedBlock;

class Environment {
 public:
  explicit Environment(size_t values) : tensors_(values) {}
  Environment(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
  Environment(const Environment& other) : tensors_(other.tensors_) {}
  Environment& operator=(const Environment&) = delete;
  Environment(Environment&&) = default;
  Environment& operator=(Environment&&) = default;

  // By ValueId; undefined while not made or released.
  Tensor& operator[](ValueId id) { return tensors_[id]; }
  const Tensor& operator[](ValueId id) const { return tensors_[id]; }
  size_t size() const { return tensors_.size(); }

  // Null at first.
  std::shared_ptr<PreparedBlock>& prepared(const Block& block) {
    return prepared_[&block];
  }

 private:
  std::vector<Tensor> tensors_;
  std::unordered_map<const Block*, std::shared_ptr<PreparedBlock>> prepared_;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_ENVIRONMENT_H_
