// The pass without_reserves: what recurrences would keep for gradients.
#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

constexpr RuleTable::Text kTexts[] = {
    {"%o, %h, %c, _ = rnn(%x, %i, %s, %a, %b, %p, %h0, %c0, %l, mode=?m, "
     "reverse=?r, time_major=?t)",
     "%o, %h, %c, _ = rnn(%x, %i, %s, %a, %b, %p, %h0, %c0, %l, mode=?m, "
     "reverse=?r, time_major=?t, keep_reserve=false)"},
};
constinit const RuleTable table{kTexts};

void Run(Rewriter& r) { ApplyRules(r, table.rules()); }

const PassRegistration registration(
    {"without_reserves",
     "Recurrences keep nothing for gradients that nobody asks for. For "
     "programs that predict.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
