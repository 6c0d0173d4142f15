// What an expression of a rule gives, and calling ops with such values.
#ifndef PROA_JIT_REFERENCE_RULE_VALUE_H_
#define PROA_JIT_REFERENCE_RULE_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ops/definition.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit::reference {

struct RuleValue;
using RuleList = std::vector<RuleValue>;

struct RuleValue {
  std::variant<std::monostate, bool, int64_t, double, std::string, DType,
               Tensor, RuleList>
      v;

  RuleValue() = default;
  template <typename T>
  RuleValue(T value) : v(std::move(value)) {}  // NOLINT: a variant by nature

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&v);
  }
  bool is_none() const { return v.index() == 0; }
  bool is_number() const { return v.index() >= 1 && v.index() <= 3; }
  double number() const;    // of is_number()
  int64_t integer() const;  // throws for what is none
};

// "[1, 'a', [2, 3] float32]".
std::string ToString(const RuleValue& v);

// 0-d, recorded: of the type of `like` where a number of its kind is given.
Tensor AsTensor(const RuleValue& v, const Tensor& like);
// Numbers, 0-d tensors and tensors of one element as a 1-D tensor of integers.
Tensor StackSizes(const RuleList& list);

// Calls the op with arguments by position and by name; a number beside a tensor
// becomes a tensor. One output as it is, several as a list.
struct NamedArgument {
  std::string name;  // "": by position
  RuleValue value;
};
RuleValue CallOp(const OpDefinition& op,
                 const std::vector<NamedArgument>& args);

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_RULE_VALUE_H_
