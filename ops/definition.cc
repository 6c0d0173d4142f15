#include "ops/definition.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

using Registry = std::vector<const OpDefinition*>;

// Each registration (static initialization, extensions) makes a new list, so
// that those who read the old one at the same time go on. Old lists stay: they
// are few.
std::atomic<const Registry*> registry{nullptr};

const Registry& Current() {
  static const auto* const none = new Registry;
  const Registry* found = registry.load(std::memory_order_acquire);
  return found != nullptr ? *found : *none;
}

bool NameLess(const OpDefinition* a, std::string_view b) { return a->name < b; }

}  // namespace

OpRegistration::OpRegistration(std::span<const OpDefinition* const> ops) {
  static auto* mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  // Readers may still hold the one before: it stays, and is not lost.
  static auto* all = new std::vector<std::unique_ptr<const Registry>>;
  auto next = std::make_unique<Registry>(Current());
  for (const OpDefinition* op : ops) {
    const std::string_view name = op->name;
    auto at = std::lower_bound(next->begin(), next->end(), name, NameLess);
    if (at != next->end() && (*at)->name == name) {
      Fail(absl::StatusCode::kAlreadyExists, "op ", op->name,
           " is registered twice: ", (*at)->source, " and ", op->source);
    }
    next->insert(at, op);
  }
  registry.store(next.get(), std::memory_order_release);
  all->push_back(std::move(next));
}

const OpDefinition* FindOp(std::string_view name) {
  const Registry& all = Current();
  auto at = std::lower_bound(all.begin(), all.end(), name, NameLess);
  return at != all.end() && (*at)->name == name ? *at : nullptr;
}

std::span<const OpDefinition* const> AllOps() { return Current(); }

}  // namespace proa::inline v0
