// Rules: what an op of PaddlePaddle 1.x and 2.x is here, as text beside the ops
// (ops/<family>/reference.rules) in a small language of its own:
//
//   elementwise_add(X, Y; axis=-1) -> Out: add(X, align(X, Y, axis))
//
//   reshape2(X, Shape?, ShapeTensor*; shape=[]) -> Out, XShape?:
//     sizes = given(ShapeTensor, Shape, shape)
//     reshape(X, kept(X, sizes))
//
//   leaky_relu@1(X; alpha=0.02) -> Out:
//     leaky_relu(X, alpha) if version > 0 else maximum(X, X * alpha)
//
// A head names the types of ops (`@` the newest version of the type that the
// rule knows; `version` is that which the program was saved with), the inputs
// by slot (`?` may be missing, `*` is a list), attributes with defaults, and
// the outputs by slot (in quotes what is no name: "F1-Score"). The body is one
// expression, or lines of `name = expression` and expressions; the value of the
// last one is the output (or the list of outputs), unless lines have set
// outputs by name. Expressions are those of Python without lambda, dicts and
// statements; they call functions
// (`def` in any rules file), the built-in ones (rule_builtins.cc) and ops by
// name. A condition may be a tensor: then `a if c else b` is recorded as a
// cond. Of sequences (lod_level) `levels("X")` is a list of the lengths,
// outermost first, `lengths("X")` the last of them, and
// `sequences("Out", [...])` says those of an output (with a third argument of
// that one of a list); one of which nothing is said has those of the inputs.
// Arrays are tensors whose first dim counts the items; in programs with ops
// that a line `uneven: beam_search_decode` names, items differ in their rows,
// and `items("X")` is a list: the rows of all, how many each has, and for each
// level of sequences the lengths of all and how many each has (`[]` of an array
// without a value; none in other programs). `items` with a list says those of
// an output, without the rows.
#ifndef PROA_JIT_REFERENCE_RULE_H_
#define PROA_JIT_REFERENCE_RULE_H_

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proa::inline v0::jit::reference {

// An expression. Which fields mean something is the kind's affair.
struct Expression {
  enum class Kind {
    kNone,
    kBool,     // integer
    kInt,      // integer
    kFloat,    // number
    kText,     // text
    kName,     // text
    kList,     // parts
    kCall,     // text(parts...); names[i] of a keyword argument, "" otherwise
    kUnary,    // text: "-" or "not"
    kBinary,   // text: the operator; "and" and "or" are lazy
    kChoice,   // parts[0] if parts[1] else parts[2]
    kIndex,    // parts[0][parts[1]]
    kSlice,    // parts[0][parts[1]:parts[2]]; kNone where nothing stands
    kForEach,  // [parts[0] for names in parts[1] if parts[2]]
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<std::string> names;
  std::vector<Expression> parts;
};

struct Statement {
  std::vector<std::string> names;  // that are set; empty: an expression alone
  Expression expression;
};

struct RuleParameter {
  std::string name;
  bool optional = false;
  bool list = false;
  bool has_default = false;
  Expression default_value;
};

struct Rule {
  std::string where;  // "vision/reference.rules:12"
  std::vector<RuleParameter> inputs;
  std::vector<RuleParameter> attributes;
  std::vector<RuleParameter> outputs;
  std::vector<Statement> body;
};

struct RuleFunction {
  std::string where;
  std::vector<RuleParameter> parameters;
  std::vector<Statement> body;
};

struct RuleBook {
  std::map<std::string, std::shared_ptr<const Rule>> rules;  // by type
  std::map<std::string, RuleFunction> functions;
  // The newest version of a type that its rule knows, where it is not 0.
  std::map<std::string, int64_t> versions;
  // Attributes that mean nothing here: `ignored: use_cudnn, op_role`.
  std::set<std::string> ignored;
  // Types of ops that come with arrays whose items differ in their rows.
  std::set<std::string> uneven;
};

struct RuleText {
  const char* name;
  std::string_view text;
};

// Throws Error: "vision/reference.rules:12: ...".
RuleBook ParseRules(std::span<const RuleText> texts);

// Those of this build, parsed on first use.
const RuleBook& AllRules();

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_RULE_H_
