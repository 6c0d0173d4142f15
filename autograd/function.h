// Custom functions: a forward that is not recorded, and a backward written by
// hand. What a C++ program subclasses is CustomFunction; FunctionNode and
// FunctionCall below are for hosts with functions of another kind (Python's
// PyLayer is one).
//
//   struct Square : autograd::CustomFunction<Square> {
//     Tensor Forward(autograd::FunctionContext& ctx, const Tensor& x) {
//       ctx.SaveForBackward({x});
//       return Mul(x, x);
//     }
//     std::vector<Tensor> Backward(autograd::FunctionContext& ctx,
//                                  std::span<const Tensor> grads) {
//       const Tensor x = ctx.Saved()[0];
//       return {Mul(grads[0], Add(x, x))};  // differentiable itself
//     }
//     static constexpr const char* kName = "square";
//   };
//   Tensor y = Square::Apply(x);
//
// Forward runs with grad off and may use any op; gradients flow to the tensors
// among its arguments and nowhere else. An output may be an input that Forward
// changed in place: it gets the function as its history. An input that is
// returned as it was, and any other tensor that has a history already, is
// returned as a new handle on the same elements.
#ifndef PROA_AUTOGRAD_FUNCTION_H_
#define PROA_AUTOGRAD_FUNCTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "tensor/dtype.h"
#include "tensor/interpreters.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/place.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

class FunctionCall;
class FunctionNode;

namespace internal {
// A tensor as it is now, to see later whether somebody changed it in place.
struct Snapshot {
  explicit Snapshot(const Tensor& t);
  bool Changed() const;
  Tensor tensor;
  const Storage* storage = nullptr;         // to compare only
  const TensorExtension* symbol = nullptr;  // to compare only
  uint32_t version = 0;
};
}  // namespace internal

// What one call of a function hands from its forward to its backward.
class FunctionContext {
 public:
  FunctionContext() = default;
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;

  // For Forward. Inputs, outputs, and tensors made on the way; undefined ones
  // too. An in-place change after this call is an error in backward. A second
  // call replaces the first.
  void SaveForBackward(std::vector<Tensor> tensors);
  // No gradient flows into this output; Backward gets zeros (or nothing) for
  // it.
  void MarkNonDifferentiable(const Tensor& output);
  // If Forward returns this input, the caller gets another handle on its
  // elements; also what happens if Forward has not changed it.
  void MarkNotInplace(const Tensor& input);
  // Whether Backward gets zeros for outputs to which no gradient came (so it is
  // without this call), or undefined tensors.
  void SetMaterializeGrads(bool on) { materialize_ = on; }

  // What was saved, with its history if grad is on. Throws Error
  // kFailedPrecondition if one was changed in place since, or freed by an
  // earlier backward, or if the graph is gone.
  std::vector<Tensor> Saved() const;
  size_t num_saved() const { return num_saved_; }
  // Whether the gradient of input `i` (of the tensors among the arguments) is
  // asked for.
  bool needs_input_grad(int i) const;
  int num_inputs() const;

 private:
  friend class FunctionCall;
  friend class FunctionNode;

  // Forward is over: from now on a node owns what was saved.
  void Finish(FunctionNode* node, std::span<const Tensor> outputs);

  FunctionNode* node_ = nullptr;  // while there is one
  size_t num_saved_ = 0;
  std::vector<internal::Snapshot> kept_;  // until the call is recorded
  std::vector<SavedTensor> saved_;        // from SaveForBackward on
  std::vector<Tensor> non_differentiable_;
  std::vector<Tensor> not_inplace_;
  bool materialize_ = true;
};

// The node of a recorded call. Checks what the formula returns: number, shapes,
// dtypes and places; says which gradient is wrong.
class FunctionNode : public Node {
 public:
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) final;
  void ReleaseSaved() final;
  void VisitSaved(const SavedVisitor& visit) const final;

  virtual FunctionContext& context() = 0;
  // Gradients of the inputs, in the order of FunctionCall::AddInput; undefined
  // means zero. `grads` as the context says (SetMaterializeGrads).
  virtual std::vector<Tensor> Formula(std::span<const Tensor> grads) = 0;

 protected:
  // To be called by a destructor whose context may live on.
  void Disconnect(FunctionContext& context);

 private:
  friend class FunctionCall;
  friend class FunctionContext;
  struct Meta {
    explicit Meta(const Tensor& t);
    Shape shape;
    DType dtype = DType::kFloat32;
    Place place;
    Tensor symbolic;  // a value of a program, whose sizes it may depend on
  };
  Tensor Zeros(const Meta& meta) const;
  void Check(size_t i, const Tensor& grad) const;

  std::vector<Meta> inputs_;
  std::vector<Meta> outputs_;
};

// One call, while it happens:
//
//   FunctionCall call(node);
//   call.AddInput(x);                       // every tensor among the arguments
//   { auto off = call.ForwardScope(); y = <forward>; }
//   call.Finish({&y, 1});                   // y may become another handle
class FunctionCall {
 public:
  explicit FunctionCall(IntrusivePtr<FunctionNode> node);
  void AddInput(const Tensor& t);
  static InterpreterScope ForwardScope() {
    return InterpreterScope::Forbid(kDifferentiate);
  }
  // Makes `outputs` the results of the call, if an input requires grad and grad
  // is on; returns whether it did. Throws Error kFailedPrecondition if Forward
  // changed an input in place that may not be, or that it does not return.
  bool Finish(std::span<Tensor> outputs);

 private:
  struct Input : internal::Snapshot {
    using Snapshot::Snapshot;
    bool returned = false;  // as changed in place
  };
  // The handle that the caller gets for an output.
  Tensor Result(const Tensor& output, std::span<const Tensor> earlier);
  void CheckChangedInputs() const;

  IntrusivePtr<FunctionNode> node_;
  FunctionContext& context_;
  bool records_ = false;
  std::vector<Input> inputs_;
};

namespace internal {

inline void AddTensors(const Tensor& t, FunctionCall& call) {
  call.AddInput(t);
}
inline void AddTensors(const std::vector<Tensor>& ts, FunctionCall& call) {
  for (const Tensor& t : ts) call.AddInput(t);
}
template <typename T>
void AddTensors(const T&, FunctionCall&) {}

inline std::span<Tensor> AsSpan(Tensor& t) { return {&t, 1}; }
inline std::span<Tensor> AsSpan(std::vector<Tensor>& ts) { return ts; }

template <typename Function>
class CustomFunctionNode final : public FunctionNode {
 public:
  FunctionContext& context() override { return context_; }
  std::vector<Tensor> Formula(std::span<const Tensor> grads) override {
    return function_.Backward(context_, grads);
  }
  const char* name() const override { return Function::kName; }
  Function& function() { return function_; }

 private:
  FunctionContext context_;
  Function function_;
};

}  // namespace internal

// See the top of this file. `Forward` returns a Tensor or a vector of them;
// among its arguments, `Tensor` and `std::vector<Tensor>` are inputs. There is
// one `Derived`, default-constructed, for each call: its members carry what is
// no tensor from Forward to Backward. A tensor in a member is not checked for
// changes, and an output there is a reference cycle: use SaveForBackward.
template <typename Derived>
class CustomFunction {
 public:
  static constexpr const char* kName = "custom function";

  template <typename... Args>
  static auto Apply(const Args&... args) {
    auto node = MakeNode<internal::CustomFunctionNode<Derived>>();
    FunctionCall call(node);
    (internal::AddTensors(args, call), ...);
    auto outputs = [&] {
      const InterpreterScope no_grad = FunctionCall::ForwardScope();
      return node->function().Forward(node->context(), args...);
    }();
    call.Finish(internal::AsSpan(outputs));
    return outputs;
  }
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_FUNCTION_H_
