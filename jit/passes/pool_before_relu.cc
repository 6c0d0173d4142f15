#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

// The greatest of a window is the same before and after relu, and so is where
// its gradient goes: an element of equal ones gets one only if it is above 0. A
// window of no elements, which ceil_mode makes, has no number to compare.
constexpr RuleTable::Text kRules[] = {
    {R"(%r = relu(%x)
        %y = max_pool1d(%r, kernel_size=?k, stride=?s, padding=?p, data_format=?f, padding_algorithm=?a))",
     R"(%m = max_pool1d(%x, kernel_size=?k, stride=?s, padding=?p, data_format=?f, padding_algorithm=?a)
        %y = relu(%m))"},
    {R"(%r = relu(%x)
        %y = max_pool2d(%r, kernel_size=?k, stride=?s, padding=?p, data_format=?f, padding_algorithm=?a))",
     R"(%m = max_pool2d(%x, kernel_size=?k, stride=?s, padding=?p, data_format=?f, padding_algorithm=?a)
        %y = relu(%m))"},
    {R"(%r = relu(%x)
        %y = max_pool3d(%r, kernel_size=?k, stride=?s, padding=?p, data_format=?f, padding_algorithm=?a))",
     R"(%m = max_pool3d(%x, kernel_size=?k, stride=?s, padding=?p, data_format=?f, padding_algorithm=?a)
        %y = relu(%m))"},
};
constinit const RuleTable rules{kRules};

void Run(Rewriter& r) { ApplyRules(r, rules.rules()); }

const PassRegistration registration(
    {"pool_before_relu",
     "Max pooling before relu, which then has fewer elements.", &Run});

}  // namespace
}  // namespace proa::inline v0::jit
