// Runs rules: evaluates their expressions by recording op calls.
#ifndef PROA_JIT_REFERENCE_RULE_RUN_H_
#define PROA_JIT_REFERENCE_RULE_RUN_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/reference/rule.h"
#include "jit/reference/rule_value.h"

namespace proa::inline v0::jit::reference {

using RuleTell = std::function<void(
    std::string_view what, const std::string& slot, const RuleList&, size_t i)>;

class RuleRun {
 public:
  using Names = std::map<std::string, RuleValue>;

  // `type` is that of the op, for `same(...)`; `ask` answers what a rule wants
  // to know of the program: ask("before", "Out") is what the output's variable
  // held until now, ask("declared", "Out") the dims that the file says,
  // ask("levels", "X") the lengths of the sequences in the variables of an
  // input: for each variable a list of tensors, outermost first; ask("items",
  // "X") what an array holds (rule.h). `tell` is told both of an output, of
  // which a slot may hold several.
  RuleRun(const RuleBook& book, std::string type,
          std::function<RuleValue(std::string_view, const std::string&)> ask,
          RuleTell tell = {})
      : book_(book),
        type_(std::move(type)),
        ask_(std::move(ask)),
        tell_(std::move(tell)) {}

  // The value of each output of the rule (none where there is no such); `names`
  // are inputs and attributes.
  RuleList Run(const Rule& rule, Names names);

  // For the built-in functions.
  RuleValue Call(const std::string& name,
                 const std::vector<NamedArgument>& args);
  const std::string& type() const { return type_; }
  RuleValue Ask(std::string_view what, const std::string& slot) const {
    return ask_(what, slot);
  }
  // `i`: which output of a list.
  void Tell(std::string_view what, const std::string& slot,
            const RuleList& tensors, size_t i = 0) const {
    if (tell_ != nullptr) tell_(what, slot, tensors, i);
  }

 private:
  RuleValue Body(const std::vector<Statement>& body, Names& names);
  RuleValue Evaluate(const Expression& e, Names& names);
  RuleValue Binary(const Expression& e, Names& names);
  RuleValue Choice(const Expression& e, Names& names);
  RuleValue ForEach(const Expression& e, Names& names);
  RuleValue Part(const Expression& e, Names& names);
  RuleValue CallFunction(const RuleFunction& f,
                         const std::vector<NamedArgument>& args);

  const RuleBook& book_;
  std::string type_;
  std::function<RuleValue(std::string_view, const std::string&)> ask_;
  RuleTell tell_;
  int depth_ = 0;
  int64_t steps_ = 0;  // bounds what a hostile file may ask for
};

// Functions that rules may call beside `def`s and ops; null if there is none of
// that name.
using RuleBuiltin = RuleValue (*)(RuleRun& run,
                                  const std::vector<NamedArgument>& args);
RuleBuiltin FindRuleBuiltin(const std::string& name);

// A number as it is; of a recorded constant of a few elements what these are (a
// number, or a list of them); anything else as it is.
RuleValue KnownNumbers(const RuleValue& v);

// The product of tensors by the letters of their dims: "ij,jk->ik".
RuleValue Einsum(const RuleList& operands, const std::string& equation);

// The sizes of a tensor: numbers, and 0-d tensors where only the run knows.
RuleValue SizeOf(const Tensor& t, int axis);

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_RULE_RUN_H_
