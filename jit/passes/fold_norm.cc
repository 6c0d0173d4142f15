#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

// Normalization with given statistics multiplies and shifts each channel, and
// so do weight and bias of what comes before it. The new weight is made by an
// operation; fold_parameters makes it once.
constexpr RuleTable::Text kRules[] = {
    {R"(%c = conv2d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f, padding_algorithm=?q)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f))",
     R"(%k2, %b2 = fold_batch_norm(%k, %m, %v, %kb, %w, %b, epsilon=?e)
          %n = conv2d(%x, %k2, %b2, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f, padding_algorithm=?q))"},
    {R"(%c = conv1d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f, padding_algorithm=?q)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f))",
     R"(%k2, %b2 = fold_batch_norm(%k, %m, %v, %kb, %w, %b, epsilon=?e)
          %n = conv1d(%x, %k2, %b2, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f, padding_algorithm=?q))"},
    {R"(%c = conv3d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f, padding_algorithm=?q)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f))",
     R"(%k2, %b2 = fold_batch_norm(%k, %m, %v, %kb, %w, %b, epsilon=?e)
          %n = conv3d(%x, %k2, %b2, stride=?s, padding=?p, dilation=?d, groups=?g, data_format=?f, padding_algorithm=?q))"},
    {R"(%c = conv2d_transpose(%x, %k, %kb, stride=?s, padding=?p, output_padding=?o, dilation=?d, groups=?g, output_size=?z, data_format=?f, padding_algorithm=?q)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f))",
     R"(%k2, %b2 = fold_batch_norm(%k, %m, %v, %kb, %w, %b, epsilon=?e, channel_dim=1, groups=?g)
          %n = conv2d_transpose(%x, %k2, %b2, stride=?s, padding=?p, output_padding=?o, dilation=?d, groups=?g, output_size=?z, data_format=?f, padding_algorithm=?q))"},
    {R"(%c = linear(%x{2}, %k, %kb)
          %n = batch_norm_inference(%c, %m, %v, %w, %b, epsilon=?e, data_format=?f))",
     R"(%k2, %b2 = fold_batch_norm(%k, %m, %v, %kb, %w, %b, epsilon=?e, channel_dim=1)
          %n = linear(%x, %k2, %b2))"},
    // affine_channel, of networks whose statistics are folded already: a norm
    // with mean 0 and variance 1. hardtanh is what makes those of a tensor.
    {R"(%c = conv2d(%x, %k, %kb, stride=?s, padding=?p, dilation=?d, groups=?g, padding_algorithm=?q)
          %w4 = reshape(%w{1}, shape=[1, -1, 1, 1])
          %b4 = reshape(%b{1}, shape=[1, -1, 1, 1])
          %m = ~multiply(%c, %w4)
          %n = ~add(%m, %b4))",
     R"(%m0 = hardtanh(%w, min=0.0, max=0.0)
          %v1 = hardtanh(%w, min=1.0, max=1.0)
          %k2, %b2 = fold_batch_norm(%k, %m0, %v1, %kb, %w, %b, epsilon=0.0)
          %n = conv2d(%x, %k2, %b2, stride=?s, padding=?p, dilation=?d, groups=?g, padding_algorithm=?q))"},
};
constinit const RuleTable rules{kRules};

void Run(Rewriter& r) { ApplyRules(r, rules.rules()); }

const PassRegistration registration(
    {"fold_norm",
     "Batch normalization as part of the weight and bias of the convolution "
     "before it. Wants fold_parameters behind it.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
