// Differentiation of custom ops (ops/extension/custom_op.h): the op runs, and a
// node on its results calls the op that is its gradient, which is recorded or
// differentiated in turn as any other.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/function.h"
#include "ops/definition.h"
#include "ops/extension/custom_op.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {
namespace {

using ops::CustomOp;
using ops::GradientPlan;
using Tensors = std::vector<Tensor>;
using From = GradientPlan::From;

// The tensors of an argument or result: how many, and whether it is a list.
struct Part {
  size_t first = 0;
  size_t count = 0;
  bool is_list = false;
  bool is_none = false;
};

Part Append(const Value& v, Tensors& to) {
  Part part{to.size()};
  if (const auto* t = std::get_if<Tensor>(&v)) {
    to.push_back(*t);
    part.is_none = !t->defined();
  } else if (const auto* ts = std::get_if<Tensors>(&v)) {
    to.insert(to.end(), ts->begin(), ts->end());
    part.is_list = true;
  } else {
    part.is_none = true;
  }
  part.count = to.size() - part.first;
  return part;
}

Value Boxed(const Part& part, std::span<const Tensor> all) {
  if (part.is_none) return part.count == 1 ? Value(Tensor()) : Value();
  const auto own = all.subspan(part.first, part.count);
  if (part.is_list) return Tensors(own.begin(), own.end());
  return own[0];
}

class CustomOpNode final : public FunctionNode {
 public:
  explicit CustomOpNode(const CustomOp& op) : op_(op) {}
  FunctionContext& context() override { return context_; }
  const char* name() const override { return op_.definition().name; }

  Tensors Formula(std::span<const Tensor> grads) override {
    const GradientPlan& plan = op_.gradient();
    if (plan.op == nullptr) {
      Fail(absl::StatusCode::kUnimplemented, name(),
           ": has no gradient of its own, which a derivative of higher order "
           "needs; define one (PD_BUILD_DOUBLE_GRAD_OP, PROA_DOUBLE_GRAD_OP)");
    }
    const Tensors saved = context_.Saved();
    std::vector<Value> args;
    size_t next = 0;
    for (const GradientPlan::Source& source : plan.args) {
      if (source.from == From::kGradient) {
        args.push_back(Boxed(outputs[source.index], grads));
      } else if (source.from == From::kParam &&
                 params[source.index].count == 0 &&
                 attributes[source.index].index() != 0) {
        args.push_back(attributes[source.index]);
      } else {
        args.push_back(Boxed(saved_parts[next++], saved));
      }
    }
    const OpDefinition& gradient = plan.op->definition();
    std::vector<Value> results(plan.targets.size());
    gradient.call(args, results);
    Tensors out(num_inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      Put(gradient.name, results[i], params[plan.targets[i]], out);
    }
    return out;
  }

  std::string InputName(int i) const override {
    for (size_t p = 0; p < params.size(); ++p) {
      const auto at = static_cast<size_t>(i);
      if (at >= params[p].first && at < params[p].first + params[p].count) {
        return op_.definition().params[p].name;
      }
    }
    return {};
  }

  std::vector<Part> params, outputs, saved_parts;
  std::vector<Value> attributes;  // None where the parameter has tensors
  size_t num_inputs = 0;

 private:
  static void Put(const char* gradient, const Value& result, const Part& part,
                  Tensors& out) {
    Tensors given;
    Append(result, given);
    if (part.is_none) return;
    PROA_REQUIRE(given.size() == part.count, gradient, ": gave ", given.size(),
                 " gradients for ", part.count, " tensors");
    for (size_t k = 0; k < given.size(); ++k) {
      out[part.first + k] = std::move(given[k]);
    }
  }

  const CustomOp& op_;
  FunctionContext context_;
};

void Differentiate(const CustomOp& op, bool inplace,
                   std::span<const Value> args, std::span<Value> results) {
  const auto node = MakeNode<CustomOpNode>(op);
  Tensors inputs;
  for (const Value& v : args) {
    const bool tensors =
        std::holds_alternative<Tensor>(v) || std::holds_alternative<Tensors>(v);
    node->params.push_back(Append(v, inputs));
    node->attributes.push_back(tensors ? Value() : v);
  }
  node->num_inputs = inputs.size();
  FunctionCall call(node);
  for (const Tensor& t : inputs) call.AddInput(t);
  {
    const InterpreterScope no_grad = FunctionCall::ForwardScope();
    op.Call(inplace, args, results);
  }
  Tensors made;
  for (const Value& v : results) node->outputs.push_back(Append(v, made));

  // What an op changed in place is, for its gradient, what it became.
  Tensors saved;
  for (const GradientPlan::Source& source : op.gradient().args) {
    if (source.from == From::kGradient) continue;
    const bool is_param = source.from == From::kParam;
    const Value& v = is_param ? args[source.index] : results[source.index];
    if (is_param && node->params[source.index].count == 0 &&
        node->attributes[source.index].index() != 0) {
      continue;
    }
    node->saved_parts.push_back(Append(v, saved));
  }
  node->context().SaveForBackward(std::move(saved));
  call.Finish(made);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = Boxed(node->outputs[i], made);
    if (std::holds_alternative<std::monostate>(results[i])) {
      results[i] = Tensor();
    }
  }
}

const bool installed = [] {
  ops::InstallCustomOpDifferentiator(&Differentiate);
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::autograd
