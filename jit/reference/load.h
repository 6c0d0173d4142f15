// Models of either kind, ours (program_file.h) or those that PaddlePaddle 1.x
// and 2.x saved, told apart by what the files hold.
#ifndef PROA_JIT_REFERENCE_LOAD_H_
#define PROA_JIT_REFERENCE_LOAD_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "jit/program_file.h"
#include "jit/reference/import.h"

namespace proa::inline v0::jit::reference {

// Where a model lies. `parameters` may be empty: then there is a file for each
// parameter beside the program, or the program has none.
struct ModelFiles {
  std::string program;
  std::string parameters;
};

// From what a user names: the common prefix of `<prefix>.pdmodel` and
// `<prefix>.pdiparams`, or a folder with `__model__` (and `__params__`, or a
// file for each parameter) or with one .pdmodel.
absl::StatusOr<ModelFiles> FindModel(const std::string& prefix_or_folder);

// Errors say what and where: "net.pdmodel: block 0, op 3 'conv2d': ...".
// Parameters::kMapped holds for our own files; others are copied.
absl::StatusOr<Module> LoadAnyModel(const ModelFiles& files,
                                    Parameters parameters = Parameters::kCopied,
                                    Training training = Training::kIgnored);
absl::StatusOr<Module> LoadAnyModel(const std::string& prefix_or_folder,
                                    Parameters parameters = Parameters::kCopied,
                                    Training training = Training::kIgnored);

// A tensor that stands in a file of its own; `what` names it in errors.
absl::StatusOr<Tensor> ParseReferenceTensor(std::string_view bytes,
                                            const std::string& what);

// The same from memory; `parameters` is the stream of all of them.
absl::StatusOr<Module> ParseReferenceModel(std::string_view program,
                                           std::string_view parameters);
// A program that was saved as it was built (static.save), without its tensors.
absl::StatusOr<WholeProgram> ParseWholeProgram(
    std::string_view program, const Autograd& autograd,
    const std::map<std::string, Tensor>& tensors);
absl::StatusOr<Module> ParseAnyModel(std::string_view program,
                                     std::string_view parameters);

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_LOAD_H_
