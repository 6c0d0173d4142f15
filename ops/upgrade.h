// Upgrades: how calls that older releases recorded are read by this one.
//
// A program file names an op, its version and its arguments. When the meaning
// of a recorded call changes, the op's schema raises `version`, and a function
// beside the op says what the older call is in terms of the newer one:
//
//   // ops/nn/pool_upgrade.cc
//   // Version 1 had one `size` for both dims.
//   PROA_UPGRADE("pool", 1, [](RecordedCall& call) {
//     const int64_t size = call.Int("size", 2);
//     call.Erase("size");
//     call.Set("sizes", Value(std::vector<int64_t>{size, size}));
//   });
//
// From version 1 to version 3 the functions of 1 and 2 run one after the other.
// A function may turn the call into one of another op (`call.op`,
// `call.version`): that is how an op leaves the registry and its files stay
// readable. A parameter that a later release adds with a default that keeps the
// meaning needs neither a version nor a function.
#ifndef PROA_OPS_UPGRADE_H_
#define PROA_OPS_UPGRADE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ops/value.h"

namespace proa::inline v0 {

// A tensor argument, as the file numbers it; kNone for None.
struct RecordedTensor {
  static constexpr int64_t kNone = -1;
  int64_t id = kNone;
};

// A Tensor, a Tensor[], or an attribute (a Value without tensors).
using RecordedArgument =
    std::variant<RecordedTensor, std::vector<RecordedTensor>, Value>;

// A call as a file holds it. Arguments that had the defaults of that version
// are not there. What is there comes from an untrusted file: of any type.
struct RecordedCall {
  std::string op;
  int version = 1;
  std::vector<std::pair<std::string, RecordedArgument>> args;
  std::vector<std::pair<std::string, std::vector<int64_t>>> results;

  // Null if it had its default.
  RecordedArgument* Find(std::string_view name);
  // The attribute as an integer (or bool), or `otherwise` if it had its
  // default. Throws Error if it is something else.
  int64_t Int(std::string_view name, int64_t otherwise);
  void Set(std::string_view name, RecordedArgument value);
  void Erase(std::string_view name);
  void Rename(std::string_view from, std::string_view to);
  void RenameResult(std::string_view from, std::string_view to);
};

using UpgradeFunction = void (*)(RecordedCall& call);

struct Upgrade {
  const char* op;
  int from;  // the version that the function takes
  UpgradeFunction function;
};

// All that are linked in, in no order.
std::span<const Upgrade> AllUpgrades();

// Runs upgrades until there is none for the call's op and version. A function
// that leaves op and version as they are raises the version by one. Throws
// Error for a call that a function cannot take, or for functions that go in a
// circle.
void UpgradeCall(RecordedCall& call);

class UpgradeRegistration {
 public:
  UpgradeRegistration(const char* op, int from, UpgradeFunction function);
};

#define PROA_UPGRADE(op, from, ...) \
  PROA_UPGRADE_AT(op, from, __COUNTER__, __VA_ARGS__)
#define PROA_UPGRADE_AT(op, from, number, ...) \
  PROA_UPGRADE_NAMED(op, from, number, __VA_ARGS__)
#define PROA_UPGRADE_NAMED(op, from, number, ...)                          \
  static const ::proa::UpgradeRegistration proa_upgrade_##number(op, from, \
                                                                 __VA_ARGS__)

}  // namespace proa::inline v0

#endif  // PROA_OPS_UPGRADE_H_
