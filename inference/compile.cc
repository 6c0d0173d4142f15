#include "inference/compile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_format.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "ops/alias.h"
#include "ops/definition.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/onednn/pack_at_once.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {
namespace {

void WriteText(const std::filesystem::path& folder, size_t number,
               std::string_view name, const jit::Program& program) {
  std::error_code ignored;  // The file that is not written says enough.
  std::filesystem::create_directories(folder, ignored);
  const std::filesystem::path path =
      folder / absl::StrFormat("ir_%02d_%s.txt", number, std::string(name));
  std::ofstream file(path);
  file << jit::ToText(program);
  file.close();
  PROA_REQUIRE(file.good(), "SwitchIrDebug: ", path.string(),
               " cannot be written; SetOptimCacheDir names another folder");
}

}  // namespace

jit::Module InPrecision(const jit::Module& module, const LowPrecision& low,
                        std::span<const std::string_view> passes) {
  const amp::AutocastScope scope(low.autocast);
  const auto kind = [&](DType declared) {
    return !low.keeps_io && declared == DType::kFloat32 ? low.autocast.dtype
                                                        : declared;
  };
  const auto as = [](const proa::Tensor& t, DType dtype) {
    return t.dtype() == dtype ? t : ops::cast(t, dtype);
  };
  jit::Module out;
  out.program = std::make_shared<jit::Program>();
  out.output_names = module.output_names;
  std::vector<std::pair<jit::ValueId, proa::Tensor>> feeds;
  for (const jit::ValueId id : module.inputs) {
    const jit::ValueInfo& v = module.program->value(id);
    const proa::Tensor x =
        jit::AddInput(out.program, v.name, v.meta.shape, kind(v.meta.dtype));
    out.inputs.push_back(jit::SymbolOf(x).id());
    feeds.emplace_back(id, as(x, v.meta.dtype));
  }
  const jit::Executor executor(*module.program, module.outputs,
                               jit::Changes::kAll, passes);
  const std::vector<proa::Tensor> results = executor.Replay(feeds);
  for (size_t i = 0; i < results.size(); ++i) {
    const DType declared = module.program->value(module.outputs[i]).meta.dtype;
    const proa::Tensor y = as(results[i], kind(declared));
    out.outputs.push_back(y.is_symbolic() ? jit::SymbolOf(y).id()
                                          : out.program->Capture(y));
  }
  return out;
}

std::vector<std::string> OpsBeside(const std::vector<std::string>& names) {
  std::unordered_set<const OpDefinition*> meant;
  bool products = false;
  for (const std::string& name : names) {
    const OpDefinition* op = ops::FindOpByAnyName(name);
    meant.insert(op);
    products |= op != nullptr && op->fuse == FuseClass::kMatmul;
  }
  std::vector<std::string> others;
  for (const OpDefinition* op : AllOps()) {
    if (op->amp == AmpClass::kLower && !meant.contains(op) &&
        !(products && op->fuse == FuseClass::kMatmul)) {
      others.emplace_back(op->name);
    }
  }
  return others;
}

Compiled Compile(jit::Module module, const CompileSettings& settings) {
  // Hooks show results by their names.
  for (size_t i = 0; i < module.outputs.size(); ++i) {
    jit::Program& program = *module.program;
    const std::string& name = module.output_names[i];
    if (program.value(module.outputs[i]).name.empty() &&
        program.FindAny(name) == jit::kNoValue) {
      program.NameResult(module.outputs[i], name);
    }
  }
  const std::vector<std::string_view> passes(settings.passes.begin(),
                                             settings.passes.end());
  if (settings.low.has_value()) {
    // What is folded into weights is folded before they are rounded, so that
    // none waits for its scale.
    const auto behind =
        std::find(passes.rbegin(), passes.rend(), "fold_parameters").base();
    std::vector<std::string_view> before(passes.begin(), behind);
    std::erase(before, "scale_weights");
    module = InPrecision(module, *settings.low, before);
  }
  const auto with = [&](size_t count) {
    return std::make_shared<const jit::Executor>(
        *module.program, module.outputs, jit::Changes::kAll,
        std::span(passes).first(count), jit::Memory::kPlanned);
  };
  if (settings.dump_folder.has_value()) {
    const std::filesystem::path folder =
        settings.dump_folder->empty() ? "." : *settings.dump_folder;
    const auto& wanted = settings.dumped_passes;
    for (size_t i = 0; i <= passes.size(); ++i) {
      const std::string_view name = i == 0 ? "loaded" : passes[i - 1];
      if (i > 0 && !wanted.empty() &&
          std::ranges::find(wanted, name) == wanted.end()) {
        continue;
      }
      WriteText(folder, i, name, with(i)->program());
    }
  }
  Compiled out;
  out.executor = with(passes.size());
  // What a first run packs stays: packed once more by the second, it would lie
  // scattered between what runs compute.
  const jit::Program& running = out.executor->program();
  for (const jit::ValueId id : running.captured()) {
    const proa::Tensor& t = running.value(id).captured;
    if (t.defined() && t.storage() && t.shape().rank() > 1 &&
        t.place().is_cpu()) {
      onednn::PackAtOnce(t);
    }
  }
  out.module = std::move(module);
  out.packed = std::shared_ptr<void>(
      nullptr, [](void*) noexcept { onednn::DropUnusedWeights(); });
  return out;
}

}  // namespace proa::inline v0::inference
