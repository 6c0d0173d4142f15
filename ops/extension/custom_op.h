// Ops that are defined while the process runs: by an extension (loader.h) or by
// a function of Python. They stand in the registry of all ops, and their front
// door (custom_call.cc) takes the steps that generated ones take.
//
//   CustomOpRules square;
//   square.name = "square";
//   square.params = {{"x", ParamType::kTensor}};
//   square.outputs = {{"out"}};
//   square.kernel = [](std::span<const Value> args, CustomResults& out) {...};
//   square.gradient = "square_grad";        // another one of the same call
//   DefineOps("my extension", {square, square_grad});
//
// Defined ops stay for the life of the process.
#ifndef PROA_OPS_EXTENSION_CUSTOM_OP_H_
#define PROA_OPS_EXTENSION_CUSTOM_OP_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

struct CustomParam {
  std::string name;  // a gradient's may be "out@GRAD"
  ParamType type = ParamType::kTensor;
  bool optional = false;
  bool is_string_list = false;  // of a kString: see JoinStrings
  std::optional<Value> default_value = std::nullopt;  // of an attribute
};

struct CustomOutput {
  std::string name;
  bool is_list = false;
  bool optional = false;
  int inplace = -1;  // the parameter that it is, changed
};

// The tensors of each output.
using CustomResults = std::vector<std::vector<Tensor>>;
// What inference says of a tensor; what it does not say has a default.
struct CustomMeta {
  std::optional<Shape> shape = std::nullopt;
  std::optional<DType> dtype = std::nullopt;
};
using CustomMetas = std::vector<std::vector<CustomMeta>>;

struct CustomOpRules {
  std::string name;
  std::string doc = "";
  std::vector<CustomParam> params = {};  // tensors first
  std::vector<CustomOutput> outputs = {};
  // Calls ops and touches no elements: these are differentiated and recorded.
  bool composite = false;
  // Gets contiguous tensors in one place. Those of parameters that are changed
  // in place may be written, and then their outputs may be left empty.
  std::function<void(std::span<const Value> args, CustomResults& results)>
      kernel;
  // Gets tensors without elements; unknown dims are -1. Says nothing of outputs
  // that are in place. May be empty: see custom_infer.cc for the defaults.
  std::function<void(std::span<const Value> args, CustomMetas& metas)> infer =
      nullptr;
  std::string gradient = "";  // "": none; else see GradientPlan
};

class CustomOp;

// How the gradient of an op is called, found by names: its parameters are
// called as parameters and outputs of the op, or "out@GRAD"; its outputs
// "x@GRAD" (or "x@NEW").
struct GradientPlan {
  enum class From : uint8_t { kParam, kOutput, kGradient };
  struct Source {
    From from;
    int index;
  };
  const CustomOp* op = nullptr;
  std::vector<Source> args;  // of each parameter of the gradient
  std::vector<int> targets;  // the parameter that each of its outputs is for
};

class CustomOp {
 public:
  const CustomOpRules& rules() const { return rules_; }
  const std::string& extension() const { return extension_; }
  // The op as programs have it. If it changes parameters in place, this form
  // changes copies, and what users call is the op `name_`.
  const OpDefinition& definition() const { return definition_; }
  // Null unless there are in-place outputs.
  const OpDefinition* inplace_definition() const {
    return inplace_name_.empty() ? nullptr : &inplace_definition_;
  }
  const GradientPlan& gradient() const { return gradient_; }
  // A gradient without a gradient of its own, which is an error when it is
  // asked for.
  bool lacks_gradient() const {
    return is_gradient_ && gradient_.op == nullptr;
  }

  // A tensor that the kernel is given to change, and whom it stands for.
  struct Target {
    Tensor given;
    Tensor caller;
  };
  using Targets = std::vector<std::vector<Target>>;  // of each parameter

  // The front door.
  void Call(bool inplace, std::span<const Value> args,
            std::span<Value> results) const;
  void Infer(std::span<const Value> args,
             std::span<std::vector<TensorMeta>> results) const;

 private:
  friend class CustomOpBatch;
  CustomOp(CustomOpRules rules, std::string extension);

  void MakeSignature();
  OpDefinition MakeDefinition(bool inplace, size_t slot) const;
  void PlanGradient(const CustomOp& gradient);

  const char* NameOf(bool inplace) const {
    return inplace ? inplace_name_.c_str() : rules_.name.c_str();
  }
  std::vector<Value> Checked(const char* op, std::span<const Value> args) const;
  void CallInplaceRecorded(std::span<const Value> args,
                           std::span<Value> results) const;
  void Execute(bool inplace, std::vector<Value> args,
               std::span<Value> results) const;
  Targets Prepare(bool inplace, Place place, std::vector<Value>& args) const;
  void Run(std::span<const Value> args, CustomResults& results) const;
  void CheckResults(std::span<const Value> args,
                    const CustomResults& results) const;
  CustomMetas Ask(std::span<const Value> args) const;
  void FillDefaults(std::span<const Value> args, CustomMetas& metas) const;

  const CustomOpRules rules_;
  const std::string extension_;
  std::string inplace_name_;
  std::string signature_, inplace_signature_, source_;
  std::vector<std::string> names_;  // as the registry has them
  std::vector<ParamInfo> params_;
  std::vector<OutputInfo> outputs_;
  OpDefinition definition_{}, inplace_definition_{};
  GradientPlan gradient_;
  bool is_gradient_ = false;
};

// Defines ops, all or none. Gradients are among them. Thread-safe. Throws Error
// kAlreadyExists for a name that is taken, kInvalidArgument for rules that
// contradict themselves, naming the op.
std::vector<const CustomOp*> DefineOps(const std::string& extension,
                                       std::vector<CustomOpRules> rules);

// Null for other ops.
const CustomOp* FindCustomOp(const OpDefinition& op);

// By the room that differentiates: calls the op and hangs the gradient on its
// results.
using CustomOpDifferentiator = void (*)(const CustomOp& op, bool inplace,
                                        std::span<const Value> args,
                                        std::span<Value> results);
void InstallCustomOpDifferentiator(CustomOpDifferentiator differentiate);

// A list of strings is one string in a Value: each item with "\n" behind it,
// and "\\" before a backslash; a newline in it is "\\n".
std::string JoinStrings(std::span<const std::string> items);
std::vector<std::string> SplitStrings(std::string_view joined);

// Where an op of a custom gradient stands behind ("x" of "x@GRAD"); "" if the
// name has no such ending.
std::string_view WithoutGrad(std::string_view name);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_EXTENSION_CUSTOM_OP_H_
