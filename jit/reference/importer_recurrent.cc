// `recurrent`, the op of StaticRNN in 1.x: a block for each step of sequences
// that stand side by side, [steps, ...].
#include "jit/control_flow.h"
#include "jit/reference/importer.h"
#include "jit/reference/rule_run.h"
#include "jit/reference/rule_value.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit::reference::importing {

namespace {

Tensor Called(const char* name, const std::vector<NamedArgument>& arguments) {
  return *CallOp(*FindOp(name), arguments).As<Tensor>();
}

// int64 [1].
Tensor Number(int64_t n) {
  return Called("full",
                {{"", RuleList{int64_t{1}}}, {"", n}, {"", DType::kInt64}});
}

Tensor StepOf(const Tensor& x, const Tensor& at) {
  const Tensor row =
      Called("index_select", {{"", x}, {"", at}, {"", int64_t{0}}});
  return Called("squeeze", {{"", row}, {"", RuleList{int64_t{0}}}});
}

Tensor AsRow(const Tensor& t) {
  return Called("unsqueeze", {{"", t}, {"", RuleList{int64_t{0}}}});
}

const std::vector<std::string>& NamesOf(const Slots& slots, const char* slot) {
  static const std::vector<std::string> none;
  const std::vector<std::string>* names = FindSlot(slots, slot);
  return names == nullptr ? none : *names;
}

std::vector<std::string> Texts(const OpDesc& op, const char* name) {
  const auto at = op.attributes.find(name);
  if (at == op.attributes.end()) return {};
  const auto* texts = std::get_if<std::vector<std::string>>(&at->second.value);
  // An empty list is of no type.
  return texts == nullptr ? std::vector<std::string>() : *texts;
}

}  // namespace

// Inside of the block, a variable of `inputs` is one step of it, `ex_states`
// are `states` of the step before, and what `outputs` hold is a row of them.
void Importer::Recurrent(const OpDesc& op, Scope& scope) {
  const int block = BlockOf(op);
  const std::vector<std::string> states = Texts(op, "states");
  const std::vector<std::string> before = Texts(op, "ex_states");
  const std::vector<std::string>& inputs = NamesOf(op.inputs, "inputs");
  const std::vector<std::string>& first = NamesOf(op.inputs, "initial_states");
  const std::vector<std::string>& outputs = NamesOf(op.outputs, "outputs");
  PROA_REQUIRE(states.size() == before.size() && states.size() == first.size(),
               "it has ", states.size(), " states, ", before.size(),
               " of the step before, and ", first.size(), " to begin with");
  PROA_REQUIRE(!inputs.empty(), "it has no inputs");
  const auto reversed = op.attributes.find("reverse");
  const bool backwards =
      reversed != op.attributes.end() &&
      std::get_if<bool>(&reversed->second.value) != nullptr &&
      std::get<bool>(reversed->second.value);
  const auto call =
      IsFollowed() ? std::make_shared<Call>(Call{op.type, {}, {}}) : nullptr;
  call_ = call;
  const auto given = [&](const char* slot, size_t i, const std::string& name) {
    Tensor t = Argument(slot, i, name, scope);
    PROA_REQUIRE(t.defined(), "variable ", Quoted(name), " has no value");
    return t;
  };
  Scope outside = Seen(op, "parameters", scope);
  TensorList whole, start;
  for (size_t i = 0; i < inputs.size(); ++i) {
    whole.push_back(given("inputs", i, inputs[i]));
    PROA_REQUIRE(whole[i].rank() > 0, "input ", Quoted(inputs[i]),
                 " has no steps");
  }
  for (size_t i = 0; i < first.size(); ++i) {
    start.push_back(given("initial_states", i, first[i]));
  }
  call_ = nullptr;
  // A step has no sequences.
  for (const std::string& name : inputs) Forget(name, outside);
  for (const std::string& name : before) Forget(name, outside);
  const InterpreterScope mode =
      InterpreterScope::Allow(call != nullptr ? kDifferentiate : 0);
  const int64_t steps = whole[0].size(0);
  PROA_REQUIRE(steps != 0, "its inputs have no steps");
  const Tensor count =
      IsUnknown(steps)
          ? Called("slice", {{"", Called("shape", {{"", whole[0]}})},
                             {"", RuleList{int64_t{0}}},
                             {"", RuleList{int64_t{0}}},
                             {"", RuleList{int64_t{1}}}})
          : Number(steps);
  std::vector<std::string> wanted = states;
  wanted.insert(wanted.end(), outputs.begin(), outputs.end());
  const auto step = [&](const Tensor& k, const TensorList& now) {
    const Tensor at =
        backwards
            ? Called("subtract",
                     {{"", Called("subtract", {{"", count}, {"", Number(1)}})},
                      {"", k}})
            : k;
    Scope seen = outside;
    for (size_t i = 0; i < inputs.size(); ++i) {
      seen.values[inputs[i]] = StepOf(whole[i], at);
    }
    for (size_t i = 0; i < before.size(); ++i) seen.values[before[i]] = now[i];
    return Outputs(block, wanted, std::move(seen));
  };
  // The first step gives what the rows of outputs begin with.
  TensorList vars = {Number(1)};
  const TensorList begun = step(Number(0), start);
  for (size_t i = 0; i < begun.size(); ++i) {
    vars.push_back(i < states.size() ? begun[i] : AsRow(begun[i]));
  }
  const TensorList found = WhileLoop(
      [&](const TensorList& v) {
        return Called("less_than", {{"", v[0]}, {"", count}});
      },
      [&](const TensorList& v) {
        const TensorList now(v.begin() + 1, v.begin() + 1 + states.size());
        const TensorList made = step(v[0], now);
        TensorList next = {Called("add", {{"", v[0]}, {"", Number(1)}})};
        for (size_t i = 0; i < made.size(); ++i) {
          if (i < states.size()) {
            next.push_back(made[i]);
            continue;
          }
          RuleList rows = {v[1 + i], AsRow(made[i])};
          if (backwards) std::swap(rows[0], rows[1]);
          next.push_back(Called("concat", {{"", rows}, {"", int64_t{0}}}));
        }
        return next;
      },
      vars);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Set(outputs[i], found[1 + states.size() + i], scope);
  }
  if (call != nullptr) NoteResults(op, "outputs", call, scope);
}

}  // namespace proa::inline v0::jit::reference::importing
