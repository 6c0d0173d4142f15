#include "inference/watching.h"

#include "absl/strings/str_cat.h"
#include "jit/uses.h"

namespace proa::inline v0::inference {
namespace {

void Show(const std::vector<Hook>& hooks, const jit::Program& program,
          const jit::Operation& o, const jit::Environment& env,
          jit::ValueId id) {
  if (id == jit::kNoValue || !env[id].defined())
    return;  // made for nobody, and released already
  const std::string& name = program.value(id).name;
  const std::string shown = name.empty() ? absl::StrCat("%", id) : name;
  for (const Hook& hook : hooks) hook(o.op->name, shown, env[id]);
}

}  // namespace

void Watching::Before(const jit::Program& program, const jit::Operation& o,
                      const jit::Environment& env) {
  if (hooks_.inputs.empty()) return;
  jit::ForEachUse(
      o, [&](jit::ValueId id) { Show(hooks_.inputs, program, o, env, id); });
}

void Watching::After(const jit::Program& program, const jit::Operation& o,
                     const jit::Environment& env) {
  if (hooks_.outputs.empty()) return;
  jit::ForEachResult(
      o, [&](jit::ValueId id) { Show(hooks_.outputs, program, o, env, id); });
}

}  // namespace proa::inline v0::inference
