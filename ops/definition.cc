#include "ops/definition.h"

#include <algorithm>
#include <vector>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// Grows while libraries load (static initialization, plugins); read afterwards.
std::vector<const OpDefinition*>& Registry() {
  static auto* registry = new std::vector<const OpDefinition*>;
  return *registry;
}

bool NameLess(const OpDefinition* a, std::string_view b) { return a->name < b; }

}  // namespace

OpRegistration::OpRegistration(std::span<const OpDefinition* const> ops) {
  auto& registry = Registry();
  for (const OpDefinition* op : ops) {
    const std::string_view name = op->name;
    auto at =
        std::lower_bound(registry.begin(), registry.end(), name, NameLess);
    if (at != registry.end() && (*at)->name == name) {
      Fail(absl::StatusCode::kAlreadyExists, "op ", op->name,
           " is registered twice: ", (*at)->source, " and ", op->source);
    }
    registry.insert(at, op);
  }
}

const OpDefinition* FindOp(std::string_view name) {
  const auto& registry = Registry();
  auto at = std::lower_bound(registry.begin(), registry.end(), name, NameLess);
  return at != registry.end() && (*at)->name == name ? *at : nullptr;
}

std::span<const OpDefinition* const> AllOps() { return Registry(); }

}  // namespace proa::inline v0
