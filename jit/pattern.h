// Patterns: what a pass looks for and what it puts in its place, as program
// text with names in place of numbers.
//
//   const Rule rule(
//       R"(%n = batch_norm_inference(%x, %m, %v, %w, %b, epsilon=?e)
//          %y = relu(%n))",
//       R"(%y = batch_norm_relu_inference(%x, %m, %v, %w, %b, epsilon=?e))");
//
// `%x` is a value (None too), `%x{1}` one of one dim, `?e` an attribute, `_` a
// result of no interest; a name that occurs twice is the same value (equal
// attribute) at both places. Tensors stand first, in the order of the
// signature. An argument that is not mentioned has its default, in what is
// looked for too: an attribute that an op gains later does not get lost.
// `training=false` and `axis=[-1]` must be just that. `#0.5`, in place of a
// tensor or behind `=`, is that number, but for the rounding of those who
// write 1.4142135 for the root of 2: a tensor of one element that is captured
// and never changed; `#?e` is any such number, as the attribute `?e`. `~add(%a,
// %b)` takes its two tensors in either order. `%y = %x` puts a value in place
// of another.
//
// What is looked for ends in one operation, which the others lead to, all of
// one block. It is found only where the result is the same:
//   - what the replacement does not make, nobody else uses;
//   - what is made in its place has the same dtype and sizes whenever the
//     program runs, where those are open, too;
//   - operands are not changed on the way; operations between that need what is
//     made now (updates of statistics) can stand behind it.
#ifndef PROA_JIT_PATTERN_H_
#define PROA_JIT_PATTERN_H_

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/effects.h"
#include "jit/rewriter.h"
#include "ops/definition.h"

namespace proa::inline v0::jit {

struct PatternArgument {
  enum Kind : uint8_t {
    kDefault,
    kNone,
    kValue,
    kAttribute,
    kLiteral,
    kNumber,     // a tensor of one element, or an attribute
    kAnyNumber,  // such a tensor
  };
  Kind kind = kDefault;
  std::string text;  // the name, or the literal as program text has it
  int rank = -1;     // of a tensor; -1 for any
};

struct PatternOperation {
  const OpDefinition* op = nullptr;  // null: results[0] is args[0]
  bool commutes = false;
  std::vector<PatternArgument> args;  // by parameter
  std::vector<std::string> results;   // names; "_"
};

// Throws Error naming what is wrong: an op that is not registered, a parameter
// that it does not have.
std::vector<PatternOperation> ParsePattern(std::string_view text);

class Rule {
 public:
  Rule(std::string_view from, std::string_view to);
  // The op that what is looked for ends in.
  const OpDefinition* last() const { return from_.back().op; }
  // Replaces what ends in `o`, if it is there. `has_shapes`: whether the shapes
  // of the program were inferred for rules of this pass (InferShapes).
  bool Apply(Rewriter& r, const Effects& effects, Operation& o,
             bool& has_shapes) const;

 private:
  std::vector<PatternOperation> from_;
  std::vector<PatternOperation> to_;
};

// The rules of a pass, which are text until they are needed: ops register
// themselves in any order. Threads may parse them side by side, and one result
// stays; there is no lock that a fork could find taken. Texts live for ever.
class RuleTable {
 public:
  struct Text {
    std::string_view from, to;
  };
  constexpr explicit RuleTable(std::span<const Text> texts) : texts_(texts) {}

  std::span<const Rule> rules() const;

 private:
  std::span<const Text> texts_;
  mutable std::atomic<const std::vector<Rule>*> parsed_ = nullptr;
};

// The number that an argument is: an attribute, or a tensor of one element that
// is captured and never changed.
std::optional<double> NumberOf(const Program& program, const Effects& effects,
                               const Argument& a);

// Goes over the program once, and tries the rules in order at each operation.
void ApplyRules(Rewriter& r, std::span<const Rule> rules);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PATTERN_H_
