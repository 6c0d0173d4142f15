#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

// Wherever result and operand have one dtype and the same sizes.
constexpr RuleTable::Text kRules[] = {
    {R"(%y, _ = dropout(%x, p=?p, training=false))", "%y = %x"},
    {"%y = cast(%x, dtype=?d)", "%y = %x"},
    {"%y = reshape(%x, shape=?s)", "%y = %x"},
};
constinit const RuleTable rules{kRules};

void Run(Rewriter& r) { ApplyRules(r, rules.rules()); }

const PassRegistration registration(
    {"identities", "Uses an operand in place of what is equal to it.", &Run});

}  // namespace
}  // namespace proa::inline v0::jit
