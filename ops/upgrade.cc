#include "ops/upgrade.h"

#include <algorithm>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// Grows while libraries load; read afterwards.
std::vector<Upgrade>& Upgrades() {
  static auto* upgrades = new std::vector<Upgrade>;
  return *upgrades;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Upgrades();

const Upgrade* FindUpgrade(const RecordedCall& call) {
  const auto& all = Upgrades();
  const auto at = std::ranges::find_if(all, [&](const Upgrade& u) {
    return u.op == call.op && u.from == call.version;
  });
  return at != all.end() ? &*at : nullptr;
}

template <typename List>
auto Named(List& list, std::string_view name) {
  return std::ranges::find_if(
      list, [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

RecordedArgument* RecordedCall::Find(std::string_view name) {
  const auto at = Named(args, name);
  return at != args.end() ? &at->second : nullptr;
}

int64_t RecordedCall::Int(std::string_view name, int64_t otherwise) {
  const RecordedArgument* a = Find(name);
  if (a == nullptr) return otherwise;
  if (const auto* v = std::get_if<Value>(a)) {
    if (const auto* i = std::get_if<int64_t>(v)) return *i;
    if (const auto* b = std::get_if<bool>(v)) return *b ? 1 : 0;
  }
  FailArgument("op '", op, "' version ", version, ": argument ",
               std::string(name), " is no integer");
}

void RecordedCall::Set(std::string_view name, RecordedArgument value) {
  if (RecordedArgument* a = Find(name)) {
    *a = std::move(value);
  } else {
    args.emplace_back(name, std::move(value));
  }
}

void RecordedCall::Erase(std::string_view name) {
  if (const auto at = Named(args, name); at != args.end()) args.erase(at);
}

void RecordedCall::Rename(std::string_view from, std::string_view to) {
  if (const auto at = Named(args, from); at != args.end()) at->first = to;
}

void RecordedCall::RenameResult(std::string_view from, std::string_view to) {
  if (const auto at = Named(results, from); at != results.end()) at->first = to;
}

std::span<const Upgrade> AllUpgrades() { return Upgrades(); }

void UpgradeCall(RecordedCall& call) {
  constexpr int kMaxSteps = 1000;
  for (int i = 0; i < kMaxSteps; ++i) {
    const Upgrade* u = FindUpgrade(call);
    if (u == nullptr) return;
    u->function(call);
    if (call.op == u->op && call.version == u->from) ++call.version;
  }
  Fail(absl::StatusCode::kInternal, "op '", call.op,
       "': its upgrades go in a circle");
}

UpgradeRegistration::UpgradeRegistration(const char* op, int from,
                                         UpgradeFunction function) {
  Upgrades().push_back({op, from, function});
}

}  // namespace proa::inline v0
