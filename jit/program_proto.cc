#include "jit/program_proto.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/verify.h"

namespace proa::inline v0::jit {

absl::Status VerifyModule(const Module& module) {
  if (absl::Status s = Verify(*module.program); !s.ok()) return s;
  const auto n = static_cast<ValueId>(module.program->values().size());
  // Verify made sure that each value of the outer block is made; results of
  // regions are no entry points.
  std::vector<bool> outer(n, false);
  for (ValueId id = 0; id < n; ++id) {
    const ValueKind k = module.program->value(id).kind;
    outer[id] = k == ValueKind::kInput || k == ValueKind::kCaptured;
  }
  for (const Operation& o : module.program->block().operations) {
    for (const auto& ids : o.results) {
      for (ValueId id : ids) outer[id] = true;
    }
  }
  for (ValueId id : module.inputs) {
    if (id < 0 || id >= n ||
        module.program->value(id).kind != ValueKind::kInput) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry input %", id, " is no input of the program"));
    }
  }
  for (ValueId id : module.outputs) {
    if (id < 0 || id >= n || !outer[id]) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry output %", id, " is not made by the program"));
    }
  }
  if (module.output_names.size() != module.outputs.size()) {
    return absl::InvalidArgumentError("outputs and their names do not match");
  }
  return absl::OkStatus();
}

}  // namespace proa::inline v0::jit
