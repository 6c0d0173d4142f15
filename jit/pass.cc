#include "jit/pass.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "jit/pass_check.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

// Grows while libraries load; read afterwards.
std::vector<Pass>& Registry() {
  static auto* registry = new std::vector<Pass>;
  return *registry;
}

PassDebugging& Debugging() {
  static auto* debugging = new PassDebugging;
  return *debugging;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Debugging();

// Collectives are moved before operations are fused: what a region gives may
// share memory with anything, and nothing that changes a tensor passes it.
constexpr std::string_view kDefault[] = {
    "identities",     "constant_folding", "common_subexpressions",
    "fuse_norm",      "pool_before_relu", "dead_code",
    "early_exchange", "fuse_pointwise"};

// What other tools computed of parameters are numbers once they are folded, for
// those that recognize; what is folded into weights then is folded once more.
constexpr std::string_view kInference[] = {
    "identities",   "constant_folding",    "equal_calls",    "fold_parameters",
    "recognize",    "recognize_attention", "fold_norm",      "scale_weights",
    "join_linears", "fold_parameters",     "fuse_norm",      "fuse_activation",
    "fuse_cache",   "dead_code",           "fuse_pointwise", "without_reserves",
    "side_by_side"};

constexpr std::string_view kExport[] = {"without_checks", "identities",
                                        "constant_folding",
                                        "common_subexpressions", "dead_code"};

bool RunPass(const Pass& pass, const std::shared_ptr<Program>& program,
             std::span<const ValueId> outputs) {
  const PassDebugging& debugging = Debugging();
  const std::string before =
      debugging.dump != nullptr ? ToText(*program) : std::string();
  std::optional<PassCheck> check;
  if (debugging.compare && pass.keeps_results) check.emplace(*program, outputs);
  Rewriter r(program, outputs);
  pass.run(r);
  if (!r.Commit()) return false;
  if (debugging.dump != nullptr) {
    debugging.dump(pass.name, before, ToText(*program));
  }
  if (debugging.verify) {
    const absl::Status s = Verify(*program);
    if (!s.ok()) {
      Fail(absl::StatusCode::kInternal, "pass ", pass.name,
           " made a program that is malformed: ", std::string(s.message()));
    }
  }
  if (check.has_value()) check->Compare(*program, pass.name);
  return true;
}

}  // namespace

PassRegistration::PassRegistration(const Pass& pass) {
  auto& registry = Registry();
  registry.insert(std::ranges::lower_bound(
                      registry, std::string_view(pass.name), {},
                      [](const Pass& p) { return std::string_view(p.name); }),
                  pass);
}

std::span<const Pass> AllPasses() { return Registry(); }

const Pass* FindPass(std::string_view name) {
  for (const Pass& p : Registry()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

bool RunPasses(const std::shared_ptr<Program>& program,
               std::span<const ValueId> outputs,
               std::span<const std::string_view> names) {
  bool changed = false;
  for (const std::string_view name : names) {
    const Pass* pass = FindPass(name);
    PROA_REQUIRE(pass != nullptr, "no pass is named '", std::string(name), "'");
    changed |= RunPass(*pass, program, outputs);
  }
  return changed;
}

std::span<const std::string_view> DefaultPasses() { return kDefault; }
std::span<const std::string_view> InferencePasses() { return kInference; }
std::span<const std::string_view> ExportPasses() { return kExport; }

void SetPassDebugging(PassDebugging debugging) {
  Debugging() = std::move(debugging);
}

}  // namespace proa::inline v0::jit
