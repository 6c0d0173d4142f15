#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/pattern.h"

namespace proa::inline v0::jit {
namespace {

// Wherever result and operand have one dtype and the same sizes.
const std::vector<Rule>& Rules() {
  static const auto* rules = new std::vector<Rule>{
      {R"(%y, _ = dropout(%x, p=?p, training=false))", "%y = %x"},
      {"%y = cast(%x, dtype=?d)", "%y = %x"},
      {"%y = reshape(%x, shape=?s)", "%y = %x"},
  };
  return *rules;
}

void Run(Rewriter& r) { ApplyRules(r, Rules()); }

const PassRegistration registration(
    {"identities", "Uses an operand in place of what is equal to it.", &Run});

}  // namespace
}  // namespace proa::inline v0::jit
