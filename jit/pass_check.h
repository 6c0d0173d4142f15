// For those who write passes: does a program give after a pass what it gave
// before?
//
//   const PassCheck check(*program, outputs);
//   ... a pass changes the program ...
//   check.Compare(*program, "fold_norm");
//
// Arguments are made up: numbers about 0, ones and zeros where integers are
// asked for, and dims of 2 where sizes are open. Programs that refuse them,
// draw random numbers or do something besides their results are not looked at;
// changes of captured tensors are passed over.
#ifndef PROA_JIT_PASS_CHECK_H_
#define PROA_JIT_PASS_CHECK_H_

#include <span>
#include <string_view>
#include <vector>

#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

class PassCheck {
 public:
  PassCheck(const Program& program, std::span<const ValueId> outputs);
  // Throws Error (kInternal) naming the pass and the first output that differs
  // by more than the rounding of its type.
  void Compare(const Program& program, std::string_view pass) const;
  // Is there something to compare with?
  bool compares() const { return !results_.empty(); }

 private:
  std::vector<ValueId> outputs_;
  std::vector<Tensor> results_;  // empty where it cannot be told
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PASS_CHECK_H_
