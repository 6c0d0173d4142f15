#include "ops/extension/origin.h"

#include <mutex>
#include <unordered_map>

namespace proa::inline v0::ops {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const OpDefinition*, const char*> extensions;
};
Table& TheTable() {
  static auto* table = new Table;
  return *table;
}

}  // namespace

const char* OriginOf(const OpDefinition& op) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.extensions.find(&op);
  return found != table.extensions.end() ? found->second : nullptr;
}

void SetOrigin(const OpDefinition& op, const char* extension) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  table.extensions[&op] = extension;
}

}  // namespace proa::inline v0::ops
