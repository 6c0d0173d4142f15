// Programs as they were built: gradients by autograd, and what training
// changes.
#include <algorithm>

#include "jit/recorder.h"
#include "jit/reference/importer.h"
#include "jit/reference/rule_run.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit::reference::importing {

namespace {

constexpr const char* kGrad = "@GRAD";

// The variable that `name` is a gradient of: x@GRAD, x@GRAD@RENAME@block0@0,
// and where gradients are added a second time grad/grad/x@GRAD.
std::string WithoutGrad(std::string name) {
  while (name.starts_with("grad/")) name.erase(0, 5);
  return name.substr(0, name.find(kGrad));
}

}  // namespace

bool Importer::IsTrained(const VarDesc& v) const {
  const bool said = std::ranges::any_of(
      vars_, [](const auto& var) { return var.second->parameter; });
  return v.persistable && !v.stop_gradient && v.dtype.has_value() &&
         IsFloating(*v.dtype) &&
         (said
              ? v.parameter
              : differentiated_.contains(v.name) || !changed_.contains(v.name));
}

WholeProgram Importer::RunWhole(const Autograd& autograd) {
  whole_ = stores_ = true;
  autograd_ = &autograd;
  bool gradients = false;
  for (const BlockDesc& b : desc_.blocks) {
    for (const OpDesc& op : b.ops) {
      if (!IsGradient(op)) continue;
      gradients = true;
      for (const auto& [slot, out] : op.outputs) {
        for (const std::string& n : out) differentiated_.insert(WithoutGrad(n));
      }
    }
  }
  CheckBlocks();
  CheckKnown();
  uneven_ = HoldsUnevenArrays();
  const StaticModeScope recording(program_);
  // Without gradients of its own, the program leads those that come later.
  const InterpreterScope plain = InterpreterScope::Forbid(
      kProfile | kAutocast | (gradients ? kDifferentiate : 0));
  Scope scope;
  Inputs(scope);
  Block(0, scope);
  WholeProgram out;
  out.program = program_;
  out.warnings = NewerVersions();
  for (const auto& [name, t] : scope.values) {
    const VarDesc* v = Var(name);
    if (v == nullptr || v->persistable) continue;
    const ValueId id = SymbolOf(t).id();
    if (program_->value(id).name.empty()) program_->NameResult(id, name);
    out.results.emplace_back(name, gradients ? MakeSymbolic(program_, id) : t);
  }
  for (const auto& [name, t] : parameters_) {
    if (IsTrained(*Var(name))) out.trainable.push_back(name);
  }
  return out;
}

// What an op finds in a variable. Where another op gives the gradient for it,
// that is a handle of its own, at which the gradient ends.
Tensor Importer::Argument(const std::string& slot, size_t i,
                          const std::string& name, Scope& scope) {
  const Tensor t = Find(name, scope);
  if (call_ == nullptr || !t.defined() || !differentiated_.contains(name) ||
      !IsFloating(t.dtype())) {
    return t;
  }
  const Tensor own = MakeSymbolic(program_, SymbolOf(t).id());
  autograd_->follow(own);
  call_->arguments[PlaceOf(slot, i)] = own;
  return own;
}

Scope Importer::Seen(const OpDesc& op, const char* slot, Scope& scope) {
  std::map<std::string, Tensor> handles;
  const std::vector<std::string>* names = FindSlot(op.inputs, slot);
  for (size_t i = 0; names != nullptr && i < names->size(); ++i) {
    const Tensor t = Argument(slot, i, (*names)[i], scope);
    if (t.defined()) handles[(*names)[i]] = t;
  }
  Scope seen;
  seen.values = scope.values;
  seen.fed = scope.fed;
  for (auto& [name, t] : handles) seen.values[name] = std::move(t);
  return seen;
}

void Importer::NoteResults(const OpDesc& op, const char* slot,
                           const std::shared_ptr<Call>& call, Scope& scope) {
  const std::vector<std::string>* names = FindSlot(op.outputs, slot);
  for (size_t i = 0; names != nullptr && i < names->size(); ++i) {
    const auto at = scope.values.find((*names)[i]);
    if (at == scope.values.end()) continue;
    call->results[at->first] = at->second;
    calls_[at->first].push_back(call);
  }
}

// What is read of an array has its gradient written into that of the array, at
// its place: the others are zeros.
Tensor Importer::StartOfGradient(const std::string& name, Scope& scope) {
  const std::string of = WithoutGrad(name);
  const VarDesc* v = whole_ && of != name ? Var(of) : nullptr;
  if (v == nullptr || v->kind != VarKind::kTensorArray) return Tensor();
  const Tensor t = Find(of, scope);
  if (!t.defined()) return t;
  return *CallOp(*FindOp("full_like"), {{"", t}, {"", int64_t{0}}})
              .As<Tensor>();
}

// The op of the gradients of an op: no rule says what it computes, but autograd
// from what the op made to what it took.
void Importer::Gradient(const OpDesc& op, Scope& scope) {
  std::shared_ptr<Call> call;
  TensorList results, grads;
  for (const auto& [slot, names] : op.inputs) {
    if (!slot.ends_with(kGrad)) continue;
    for (const std::string& name : names) {
      const Tensor grad = Find(name, scope);
      const auto at = calls_.find(WithoutGrad(name));
      if (!grad.defined() || at == calls_.end()) continue;
      // A loop gives new values to variables that other ops made.
      const auto made_by = std::ranges::find(
          at->second.rbegin(), at->second.rend(), ForwardOf(op),
          [](const std::shared_ptr<Call>& c) { return c->type; });
      if (made_by == at->second.rend()) continue;
      call = *made_by;
      const Tensor& made = call->results.at(WithoutGrad(name));
      if ((made.flags() & kDifferentiate) == 0) continue;
      results.push_back(made);
      grads.push_back(grad);
    }
  }
  PROA_REQUIRE(call != nullptr, "there is no op ", Quoted(ForwardOf(op)),
               " before it whose gradients it could give");
  TensorList arguments;
  std::vector<std::string> wanted;
  for (const auto& [slot, names] : op.outputs) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty() || names[i] == "@EMPTY@") continue;
      PROA_REQUIRE(slot.ends_with(kGrad), "output ", slot, " is no gradient");
      const auto at = call->arguments.find(PlaceOf(WithoutGrad(slot), i));
      PROA_REQUIRE(at != call->arguments.end(), "there is no gradient for ",
                   Quoted(WithoutGrad(names[i])));
      arguments.push_back(at->second);
      wanted.push_back(names[i]);
    }
  }
  TensorList found(arguments.size());
  if (!results.empty()) {
    const InterpreterScope allowed = InterpreterScope::Allow(kDifferentiate);
    found = autograd_->gradients(results, arguments, grads);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!found[i].defined()) {
      found[i] =
          *CallOp(*FindOp("full_like"), {{"", arguments[i]}, {"", int64_t{0}}})
               .As<Tensor>();
    }
    Set(wanted[i], found[i], scope);
  }
  if (call->before.empty()) return;
  // The block of gradients counts down what the loop counted up, and what comes
  // after reads that.
  std::set<std::string> written;
  Written(BlockOf(op), written);
  for (const auto& [name, t] : call->before) {
    if (written.contains(name) && t.is_symbolic()) {
      Set(name, MakeSymbolic(program_, SymbolOf(t).id()), scope);
    }
  }
}

}  // namespace proa::inline v0::jit::reference::importing
