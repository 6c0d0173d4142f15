#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

// The larger ones first.
constexpr RuleTable::Text kRules[] = {
    // Inference.
    {R"(%c = conv2d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f)
          %a = ~add(%n, %r)
          %y = relu(%a))",
     R"(%y = conv2d_batch_norm_relu_inference(%x, %k, %m, %v, %kb, %w, %b, %r, epsilon=?e, stride=?s, padding=?p,
              dilation=?d, groups=?g, data_format=?f))"},
    {R"(%c = conv2d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f)
          %y = relu(%n))",
     R"(%y = conv2d_batch_norm_relu_inference(%x, %k, %m, %v, %kb, %w, %b, epsilon=?e, stride=?s, padding=?p,
              dilation=?d, groups=?g, data_format=?f))"},
    {R"(%n = batch_norm_inference(%x, %m, %v, %w, %b, epsilon=?e, data_format=?f)
          %a = ~add(%n, %r)
          %y = relu(%a))",
     "%y = batch_norm_add_relu_inference(%x, %r, %m, %v, %w, %b, epsilon=?e, "
     "data_format=?f)"},
    {R"(%n = batch_norm_inference(%x, %m, %v, %w, %b, epsilon=?e, data_format=?f)
          %y = relu(%n))",
     "%y = batch_norm_relu_inference(%x, %m, %v, %w, %b, epsilon=?e, "
     "data_format=?f)"},
    // Training; the caller stores the statistics.
    {R"(%n, %rm, %rv, %sm, %si = batch_norm(%x, %m, %v, %w, %b, momentum=?o, epsilon=?e, data_format=?f)
          %a = ~add(%n, %r)
          %y = relu(%a))",
     "%y, %rm, %rv, %sm, %si = batch_norm_add_relu(%x, %r, %m, %v, %w, %b, "
     "momentum=?o, epsilon=?e, data_format=?f)"},
    {R"(%n, %rm, %rv, %sm, %si = batch_norm(%x, %m, %v, %w, %b, momentum=?o, epsilon=?e, data_format=?f)
          %y = relu(%n))",
     "%y, %rm, %rv, %sm, %si = batch_norm_relu(%x, %m, %v, %w, %b, "
     "momentum=?o, epsilon=?e, data_format=?f)"},
};
constinit const RuleTable rules{kRules};

void Run(Rewriter& r) { ApplyRules(r, rules.rules()); }

const PassRegistration registration(
    {"fuse_norm",
     "Batch normalization with the convolution before it and the addition and "
     "relu behind it in one operation.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
