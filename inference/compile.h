// How a loaded model becomes what a predictor runs: its precision, the passes
// over it, and texts of what they did. One place for predictors in C++ and
// Python; of this project, not of the library's users.
//
//   Compiled model = Compile(*jit::reference::LoadAnyModel("net"), {});
//   model.executor->Run(...);
#ifndef PROA_INFERENCE_COMPILE_H_
#define PROA_INFERENCE_COMPILE_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amp/autocast.h"
#include "jit/executor.h"
#include "jit/program_file.h"

namespace proa::inline v0::inference {

// Matrix products and convolutions in a 16-bit type.
struct LowPrecision {
  amp::Autocast autocast = {.dtype = DType::kBFloat16};
  // Inputs and results of float32 stay that; they become 16-bit otherwise.
  bool keeps_io = true;
};

// The module after these passes, in that precision: recorded again under
// autocast, so that what depends on weights alone is computed now and becomes
// the new weight. Throws Error for settings that autocast refuses.
jit::Module InPrecision(const jit::Module& module, const LowPrecision& low,
                        std::span<const std::string_view> passes = {});

// Of the ops that compute in 16 bits under autocast, those that none of
// `names` means (ops by any of their names; others are nothing): for lists of
// what alone shall do so. One product of matrices means all: "fc", "mul" and
// "matmul_v2" are names of what passes turn into each other.
std::vector<std::string> OpsBeside(const std::vector<std::string>& names);

struct CompileSettings {
  std::vector<std::string> passes;  // by their names, in order
  std::optional<LowPrecision> low;
  // Where to write the program as text, before the passes and after each:
  // "ir_00_loaded.txt", "ir_01_identities.txt", ...; made if it is not there.
  std::optional<std::string> dump_folder;
  // Of those only after these; all if empty.
  std::vector<std::string> dumped_passes;
};

struct Compiled {
  // Lets go of what was packed of weights that nobody has any more; to be
  // destroyed after the others.
  std::shared_ptr<void> packed;
  jit::Module module;
  std::shared_ptr<const jit::Executor> executor;
};

// Throws Error for a name that no pass has, or a file that cannot be written.
Compiled Compile(jit::Module module, const CompileSettings& settings);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_COMPILE_H_
