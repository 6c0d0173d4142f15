// Programs with their inputs and outputs, for Python: those that were recorded,
// parsed or loaded from files, to be called with tensors.
#ifndef PROA_PYTHON_CORE_LOADED_MODULE_H_
#define PROA_PYTHON_CORE_LOADED_MODULE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/executor.h"
#include "jit/program.h"
#include "jit/program_file.h"
#include "python/core/casters.h"
#include "python/core/constructor.h"
#include "tensor/tensor.h"

namespace pybind11::detail {
template <>
class type_caster<std::shared_ptr<proa::jit::Program>>
    : public proa::python::SharedCaster<proa::jit::Program> {};
}  // namespace pybind11::detail

namespace proa::inline v0::python {

using ProgramPtr = std::shared_ptr<jit::Program>;
using Tensors = std::vector<Tensor>;

inline constexpr std::string_view kTestMode[] = {"test_mode"};

// The value that `t` is in the program, which captures it if need be.
jit::ValueId IdIn(const ProgramPtr& program, const Tensor& t);
std::vector<jit::ValueId> IdsIn(const ProgramPtr& program, const Tensors& ts);
jit::ValueId InputNamed(const jit::Program& program, const std::string& name);

class LoadedModule {
 public:
  explicit LoadedModule(jit::Module m);

  std::shared_ptr<const jit::Executor> Executor() const;

  // With all interpreters off; the global lock is given away meanwhile.
  Tensors Run(const Tensors& inputs) const;
  // Through the front doors, under the interpreters that are active: gradients
  // flow, and a program that is being recorded takes the operations in. But for
  // autocast: its casts were recorded, or there were none.
  Tensors Call(const Tensors& inputs) const;

  // Whether the captured tensors that require gradients are those that did when
  // this was made: what a recording that follows gradients holds for.
  bool SameGradients() const;

  const jit::Module& module() const { return module_; }
  jit::Module& module() { return module_; }

 private:
  struct Captured {
    jit::ValueId id;
    bool requires_grad;
  };

  std::vector<std::pair<jit::ValueId, Tensor>> Feeds(
      const Tensors& inputs) const;
  bool RequiresGrad(jit::ValueId captured) const;

  jit::Module module_;
  std::vector<Captured> captured_;  // when it was made
};

// What `inputs` and `outputs` are in the program.
jit::Module MakeModule(const ProgramPtr& program,
                       const std::vector<std::string>& inputs,
                       const Tensors& outputs,
                       const std::vector<std::string>& output_names);
// The part of the program that `outputs` depend on, through its text and back.
LoadedModule Reparse(const ProgramPtr& program,
                     const std::vector<std::string>& inputs,
                     const Tensors& outputs);

// Adds LoadedModule, and the functions that save and load; after Program.
void BindLoadedModules(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_LOADED_MODULE_H_
