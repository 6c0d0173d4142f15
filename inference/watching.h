// Hooks of predictors: what is called with each operation's tensors while a
// program runs. One place for predictors in C++ and Python; of this project,
// not of the library's users.
#ifndef PROA_INFERENCE_WATCHING_H_
#define PROA_INFERENCE_WATCHING_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/evaluate.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {

// Of the operation's name, the tensor's name (that of the program, or "%7"
// where it has none) and the tensor.
using Hook = std::function<void(std::string_view, const std::string&,
                                const proa::Tensor&)>;

struct Hooks {
  std::vector<Hook> inputs;   // before an operation, with what it reads
  std::vector<Hook> outputs;  // behind it, with what it made

  bool empty() const { return inputs.empty() && outputs.empty(); }
};

// Calls them in the order in which they stand.
class Watching final : public jit::Watch {
 public:
  explicit Watching(const Hooks& hooks) : hooks_(hooks) {}
  void Before(const jit::Program& program, const jit::Operation& o,
              const jit::Environment& env) override;
  void After(const jit::Program& program, const jit::Operation& o,
             const jit::Environment& env) override;

 private:
  const Hooks& hooks_;
};

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_WATCHING_H_
