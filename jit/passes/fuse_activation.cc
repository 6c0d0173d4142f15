#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

#define PROA_CONV                                                 \
  "%c = conv2d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, " \
  "groups=?g, data_format=?f, padding_algorithm=?q)\n"
// One whose weight scale_weights left in its file.
#define PROA_SCALED_CONV                                       \
  "%c = conv2d_activation(%x, %k, %kb, None, %ks, stride=?s, " \
  "padding=?p, dilation=?d, groups=?g, data_format=?f, "       \
  "padding_algorithm=?q)\n"
#define PROA_FUSED_CONV(residual, scale, activation)                         \
  "%y = conv2d_activation(%x, %k, %kb, " residual ", " scale ", " activation \
  ", stride=?s, padding=?p, dilation=?d, groups=?g, "                        \
  "data_format=?f, padding_algorithm=?q)"
#define PROA_CONV_THEN(residual, activation) \
  PROA_FUSED_CONV(residual, "None", activation)
#define PROA_SCALED_CONV_THEN(residual, activation) \
  PROA_FUSED_CONV(residual, "%ks", activation)
#define PROA_LINEAR "%c = linear(%x, %k, %kb)\n"
#define PROA_LINEAR_THEN(residual, activation) \
  "%y = linear_activation(%x, %k, %kb, " residual ", " activation ")"

// An op of one tensor behind the product, with and without an addition between
// them; `attributes` are what the op has, `activation` what it is then. Of two
// products that are added only one may be used by others too, so that ~add,
// which takes the first that fits, is not enough.
#define PROA_BEHIND(product, op, attributes, activation)          \
  {product "%a = add(%c, %r)\n%y = " op "(%a" attributes ")",     \
   product##_THEN("%r", activation)},                             \
      {product "%a = add(%r, %c)\n%y = " op "(%a" attributes ")", \
       product##_THEN("%r", activation)},                         \
  {                                                               \
    product "%y = " op "(%c" attributes ")",                      \
        product##_THEN("None", activation)                        \
  }
#define PROA_BEHIND_ANY(op, attributes, activation)              \
  PROA_BEHIND(PROA_CONV, op, attributes, activation),            \
      PROA_BEHIND(PROA_SCALED_CONV, op, attributes, activation), \
      PROA_BEHIND(PROA_LINEAR, op, attributes, activation)

// The larger ones first.
constexpr RuleTable::Text kActivations[] = {
    PROA_BEHIND_ANY("relu", "", "activation=\"relu\""),
    PROA_BEHIND_ANY("relu6", "", "activation=\"relu6\""),
    PROA_BEHIND_ANY("gelu", "", "activation=\"gelu\""),
    PROA_BEHIND_ANY("gelu", ", approximate=true", "activation=\"gelu_tanh\""),
    PROA_BEHIND_ANY("hardswish", "", "activation=\"hardswish\""),
    PROA_BEHIND_ANY("mish", "", "activation=\"mish\""),
    PROA_BEHIND_ANY("silu", "", "activation=\"silu\""),
    PROA_BEHIND_ANY("sigmoid", "", "activation=\"sigmoid\""),
    PROA_BEHIND_ANY("tanh", "", "activation=\"tanh\""),
    PROA_BEHIND_ANY("leaky_relu", ", negative_slope=?l",
                    "activation=\"leaky_relu\", alpha=?l"),
    PROA_BEHIND_ANY("hardtanh", ", min=?l, max=?h",
                    "activation=\"hardtanh\", alpha=?l, beta=?h"),
    PROA_BEHIND_ANY("hardsigmoid", ", slope=?l, offset=?h",
                    "activation=\"hardsigmoid\", alpha=?l, beta=?h"),
};
constinit const RuleTable activations{kActivations};

#define PROA_ADDED(product)                                                    \
  {product "%y = add(%c, %r)", product##_THEN("%r", "activation=\"none\"")}, { \
    product "%y = add(%r, %c)", product##_THEN("%r", "activation=\"none\"")    \
  }

constexpr RuleTable::Text kAdditions[] = {PROA_ADDED(PROA_CONV),
                                          PROA_ADDED(PROA_SCALED_CONV),
                                          PROA_ADDED(PROA_LINEAR)};
constinit const RuleTable additions{kAdditions};

void Run(Rewriter& r) {
  ApplyRules(r, activations.rules());
  ApplyRules(r, additions.rules());
}

const PassRegistration registration(
    {"fuse_activation",
     "Convolution or linear layer with the addition and the activation behind "
     "it in one operation. For programs that predict: it has no gradient.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
