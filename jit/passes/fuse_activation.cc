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
#define PROA_CONV_ACTIVATION(residual, scale, activation)                    \
  "%y = conv2d_activation(%x, %k, %kb, " residual ", " scale ", " activation \
  "stride=?s, padding=?p, dilation=?d, groups=?g, "                          \
  "data_format=?f, padding_algorithm=?q)"

// An op of one tensor behind the convolution, with and without an addition
// between them; `attributes` are what the op has, `activation` what it is then.
// Of two convolutions that are added only one may be used by others too, so
// that ~add, which takes the first that fits, is not enough.
#define PROA_BEHIND(conv, scale, op, attributes, activation)   \
  {conv "%a = add(%c, %r)\n%y = " op "(%a" attributes ")",     \
   PROA_CONV_ACTIVATION("%r", scale, activation)},             \
      {conv "%a = add(%r, %c)\n%y = " op "(%a" attributes ")", \
       PROA_CONV_ACTIVATION("%r", scale, activation)},         \
  {                                                            \
    conv "%y = " op "(%c" attributes ")",                      \
        PROA_CONV_ACTIVATION("None", scale, activation)        \
  }
#define PROA_BEHIND_CONV(op, attributes, activation)          \
  PROA_BEHIND(PROA_CONV, "None", op, attributes, activation), \
      PROA_BEHIND(PROA_SCALED_CONV, "%ks", op, attributes, activation)

// The larger ones first.
constexpr RuleTable::Text kActivations[] = {
    PROA_BEHIND_CONV("relu", "", "activation=\"relu\", "),
    PROA_BEHIND_CONV("relu6", "", "activation=\"relu6\", "),
    PROA_BEHIND_CONV("hardswish", "", "activation=\"hardswish\", "),
    PROA_BEHIND_CONV("mish", "", "activation=\"mish\", "),
    PROA_BEHIND_CONV("silu", "", "activation=\"silu\", "),
    PROA_BEHIND_CONV("sigmoid", "", "activation=\"sigmoid\", "),
    PROA_BEHIND_CONV("tanh", "", "activation=\"tanh\", "),
    PROA_BEHIND_CONV("leaky_relu", ", negative_slope=?l",
                     "activation=\"leaky_relu\", alpha=?l, "),
    PROA_BEHIND_CONV("hardtanh", ", min=?l, max=?h",
                     "activation=\"hardtanh\", alpha=?l, beta=?h, "),
    PROA_BEHIND_CONV("hardsigmoid", ", slope=?l, offset=?h",
                     "activation=\"hardsigmoid\", alpha=?l, beta=?h, "),
};
constinit const RuleTable activations{kActivations};

constexpr RuleTable::Text kAdditions[] = {
    {PROA_CONV "%y = add(%c, %r)", PROA_CONV_ACTIVATION("%r", "None", "")},
    {PROA_CONV "%y = add(%r, %c)", PROA_CONV_ACTIVATION("%r", "None", "")},
    {PROA_SCALED_CONV "%y = add(%c, %r)",
     PROA_CONV_ACTIVATION("%r", "%ks", "")},
    {PROA_SCALED_CONV "%y = add(%r, %c)",
     PROA_CONV_ACTIVATION("%r", "%ks", "")},
};
constinit const RuleTable additions{kAdditions};

void Run(Rewriter& r) {
  ApplyRules(r, activations.rules());
  ApplyRules(r, additions.rules());
}

const PassRegistration registration(
    {"fuse_activation",
     "Convolution with the addition and the activation behind it in one "
     "operation. For programs that predict: it has no gradient.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
