// Program files: a protobuf (program.proto) with its own format number, op
// versions and a checksum, and the captured tensors beside it. Untrusted input:
// sizes are checked against the file before memory is taken, every reference is
// verified, nothing is executed.
#ifndef PROA_JIT_PROGRAM_FILE_H_
#define PROA_JIT_PROGRAM_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/program.h"

namespace proa::inline v0::jit {

// A program with its entry points, as deployed.
struct Module {
  std::shared_ptr<Program> program;
  std::vector<ValueId> inputs;   // in call order
  std::vector<ValueId> outputs;  // in call order
  std::vector<std::string> output_names;
  // Names of captured tensors that training changes; unknown in old files.
  std::optional<std::vector<std::string>> trainable;
  // In which state of the process it was recorded: ("autocast", "O1 bfloat16").
  std::vector<std::pair<std::string, std::string>> context;
  // What it does while it is trained, where that is something else (dropout,
  // statistics of the batch): a module over the same captured tensors, and some
  // more perhaps. Null where it is the same, or not known.
  std::shared_ptr<const Module> training;
  // Sentences for who loads it; not written to files.
  std::vector<std::string> warnings;
};

// Writes `<prefix>.pdmodel` (program) and `<prefix>.pdiparams` (captured
// tensors), each with a checksum, as one: whoever loads them, and whatever
// happens to this process, finds the old model or the new one
// (profiler/atomic_file.h). Errors of the system are profiler::SystemErrors.
absl::Status SaveModule(const Module& module, const std::string& prefix);

// Waits for no writer: a model that is replaced meanwhile is the old or the
// new one. Errors say what and where: "model.pdmodel: checksum does not match;
// the file is truncated or was altered", "...: op 'fancy' is not known to this
// release; the file was written by 'proa 0.9.0', this is proa 0.1.0". Calls
// that older releases recorded are upgraded (ops/upgrade.h).
//
// kMapped: parameters stay in the file until they are read, and processes that
// run the model share them (WholeFile::Map tells the danger).
enum class Parameters { kCopied, kMapped };
// Whether Module::training is read, too.
enum class Training : bool { kIgnored, kRead };
absl::StatusOr<Module> LoadModule(const std::string& prefix,
                                  Parameters parameters = Parameters::kCopied,
                                  Training training = Training::kIgnored);

// The same by the full names of the two files.
absl::StatusOr<Module> LoadModuleFiles(
    const std::string& program_path, const std::string& parameter_path,
    Parameters parameters = Parameters::kCopied,
    Training training = Training::kIgnored);

// The same from the contents of the two files.
absl::StatusOr<Module> ParseModuleFiles(std::string_view program,
                                        std::string_view parameters);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PROGRAM_FILE_H_
