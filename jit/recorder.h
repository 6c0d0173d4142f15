// The recording interpreter: appends op calls on symbolic tensors to a program.
//
//   auto program = std::make_shared<Program>();
//   Tensor x = AddInput(program, "x", {kUnknownDim, 64}, DType::kFloat32);
//   Tensor y = ops::relu(ops::matmul(x, weight));  // appended; y is symbolic
//
// Concrete tensors met on the way (parameters) become captured values. Under
// autograd the symbolic tensors carry grad nodes, so that autograd::Backward or
// Grad appends the backward program: there is no second autodiff.
#ifndef PROA_JIT_RECORDER_H_
#define PROA_JIT_RECORDER_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/program.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

struct ViewRecipe;

// What makes a tensor symbolic: its value in a program (TensorImpl::symbol).
class Symbol final : public TensorExtension {
 public:
  Symbol(std::shared_ptr<Program> program, ValueId id,
         std::shared_ptr<const ViewRecipe> view = nullptr)
      : program_(std::move(program)), id_(id), view_(std::move(view)) {}
  const std::shared_ptr<Program>& program() const { return program_; }
  ValueId id() const { return id_; }
  // How a view comes about (symbolic_view.h); null for other values.
  const std::shared_ptr<const ViewRecipe>& view() const { return view_; }

 private:
  std::shared_ptr<Program> program_;
  ValueId id_;
  std::shared_ptr<const ViewRecipe> view_;
};

// The value of a symbolic tensor; of a view whose root was changed in place,
// that of now, which is recorded if need be. Throws Error if `t` is not
// symbolic.
const Symbol& SymbolOf(const Tensor& t);
// A new symbolic tensor for a value.
Tensor MakeSymbolic(const std::shared_ptr<Program>& program, ValueId id);

// A new input of the program.
Tensor AddInput(const std::shared_ptr<Program>& program,
                const std::string& name, const Shape& shape, DType dtype);

// Appends a call of which the metas of the results are known (of each output).
// An attribute may be a symbolic tensor (late_call.h).
void RecordCall(const OpDefinition& op, std::span<const Value> args,
                std::vector<std::vector<TensorMeta>> metas,
                std::span<Value> results);

// While it lives, the next call of `op` on this thread that comes as far as the
// recording interpreter gives `results`, and nothing is recorded or computed:
// autograd hangs its node on results that were made before.
class GivenResults {
 public:
  GivenResults(const OpDefinition& op, std::vector<Value> results);
  ~GivenResults();
  GivenResults(const GivenResults&) = delete;
  GivenResults& operator=(const GivenResults&) = delete;
  // By the recorder: true if the call was meant.
  static bool Take(const OpDefinition& op, std::span<Value> results);

 private:
  const OpDefinition* op_;
  std::vector<Value> results_;
  GivenResults* outer_;
  InterpreterScope forced_;
};

// While it lives, ops that create (no tensor argument) are recorded too:
// "static mode". Nests; of this thread.
class StaticModeScope {
 public:
  explicit StaticModeScope(std::shared_ptr<Program> program);
  ~StaticModeScope();
  StaticModeScope(const StaticModeScope&) = delete;
  StaticModeScope& operator=(const StaticModeScope&) = delete;

 private:
  std::shared_ptr<Program> previous_;
  Interpreters previous_forced_;
};

// From now on, whatever StaticModeScope came before; until the innermost one
// ends. Null: static mode is off.
void SetStaticProgram(std::shared_ptr<Program> program);

// The program that all ops of this thread are recorded into now; null if there
// is none.
std::shared_ptr<Program> StaticProgram();

// Gives a constant (constant.h) its elements, so that it leaves its program;
// true if `t` has elements now.
bool TakeElements(const Tensor& t);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_RECORDER_H_
