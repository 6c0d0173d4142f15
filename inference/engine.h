// What runs a model for predictors: this library's own executor, or another
// engine; of this room.
#ifndef PROA_INFERENCE_ENGINE_H_
#define PROA_INFERENCE_ENGINE_H_

#include <memory>
#include <string>
#include <vector>

#include "inference/compile.h"
#include "inference/watching.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {

class Engine {
 public:
  struct Port {
    std::string name;
    TensorMeta meta;
  };

  virtual ~Engine() = default;
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  // From tensors on the CPU, one for each input, all defined; from many threads
  // at once. `hooks` may be empty.
  virtual std::vector<proa::Tensor> Run(const std::vector<proa::Tensor>& inputs,
                                        const Hooks& hooks) const = 0;
  // Throws where the engine shows nobody what it computes on the way.
  virtual void CheckHooks() const = 0;
  // What runs, as text.
  virtual std::string Plan() const = 0;

 protected:
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
};

// This library's own; `threads` as Config has them.
std::shared_ptr<const Engine> MakeProgramEngine(Compiled compiled, int threads);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_ENGINE_H_
