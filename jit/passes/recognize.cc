#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

// x / 2 (1 + f), in the order of PyTorch's exporter and as a product of the
// half; `f` makes %f.
#define PROA_GELU(f, approximate)                                          \
  {f "%a = ~add(%f, #1) %m = ~multiply(%x, %a) %y = ~multiply(%m, #0.5)",  \
   "%y = gelu(%x, approximate=" approximate ")"},                          \
  {                                                                        \
    f "%a = ~add(%f, #1) %h = ~multiply(%x, #0.5) %y = ~multiply(%h, %a)", \
        "%y = gelu(%x, approximate=" approximate ")"                       \
  }

// (x - mean) / sqrt(variance + e) over the last dim, which exporters count from
// either end; `x` is %x with its rank, `square` makes %q of %d.
#define PROA_LAYER_NORM_OVER(x, axis, square)                      \
  {                                                                \
    "%m = mean(" x ", axis=" axis                                  \
    ", keepdim=true) %d = subtract(%x, %m) " square                \
    " %v = mean(%q, axis=" axis                                    \
    ", keepdim=true) %e = ~add(%v, #?e) "                          \
    "%s = sqrt(%e) %n = divide(%d, %s) %g = ~multiply(%n, %w{1}) " \
    "%y = ~add(%g, %b{1})",                                        \
        "%y = layer_norm(%x, %w, %b, begin_axis=-1, epsilon=?e)"   \
  }
#define PROA_LAYER_NORM(square)                     \
  PROA_LAYER_NORM_OVER("%x", "[-1]", square),       \
      PROA_LAYER_NORM_OVER("%x{2}", "[1]", square), \
      PROA_LAYER_NORM_OVER("%x{3}", "[2]", square), \
      PROA_LAYER_NORM_OVER("%x{4}", "[3]", square)

constexpr RuleTable::Text kRules[] = {
    PROA_GELU("%d = divide(%x, #1.4142135623) %f = erf(%d) ", "false"),
    PROA_GELU("%d = ~multiply(%x, #0.7071067811) %f = erf(%d) ", "false"),
    PROA_GELU("%p = pow(%x, #3) %q = ~multiply(%p, #0.044715) "
              "%s = ~add(%x, %q) %t = ~multiply(%s, #0.7978845608) "
              "%f = tanh(%t) ",
              "true"),
    {"%s = sigmoid(%x) %y = ~multiply(%x, %s)", "%y = silu(%x)"},
    {"%h = hardsigmoid(%x, slope=#0.1666667, offset=#0.5) "
     "%y = ~multiply(%x, %h)",
     "%y = hardswish(%x)"},
    {"%t = ~add(%x, #3) %h = relu6(%t) %m = ~multiply(%x, %h) "
     "%y = divide(%m, #6)",
     "%y = hardswish(%x)"},
    {"%t = ~add(%x, #3) %h = clip(%t, min=#0, max=#6) "
     "%m = ~multiply(%x, %h) %y = divide(%m, #6)",
     "%y = hardswish(%x)"},
    {"%m = ~multiply(%x, #0.1666667) %t = ~add(%m, #0.5) "
     "%h = clip(%t, min=#0, max=#1) %y = ~multiply(%x, %h)",
     "%y = hardswish(%x)"},
    PROA_LAYER_NORM("%q = pow(%d, #2)"),
    PROA_LAYER_NORM("%q = multiply(%d, %d)"),
};
constinit const RuleTable rules{kRules};

// After those whose pieces they are.
constexpr RuleTable::Text kSmallRules[] = {
    {"%y = clip(%x, min=#0, max=#6)", "%y = relu6(%x)"},
    {"%l = maximum(%x, #0) %y = minimum(%l, #6)", "%y = relu6(%x)"},
    {"%m = matmul(%x, %w{2}) %y = ~add(%m, %b{1})", "%y = linear(%x, %w, %b)"},
    {"%m = matmul(%x, %w{2}, transpose_y=true) %y = ~add(%m, %b{1})",
     "%t = transpose(%w, perm=[1, 0]) %y = linear(%x, %t, %b)"},
};
constinit const RuleTable small_rules{kSmallRules};

void Run(Rewriter& r) {
  ApplyRules(r, rules.rules());
  ApplyRules(r, small_rules.rules());
}

const PassRegistration registration(
    {"recognize",
     "Pieces that other tools write in place of one op, as that op: gelu, "
     "silu, hardswish, relu6, layer_norm, linear. For programs whose "
     "parameters stay "
     "as they are: numbers may be among them.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
