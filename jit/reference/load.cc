#include "jit/reference/load.h"

#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "jit/file_bytes.h"
#include "jit/reference/import.h"
#include "jit/reference/parameters.h"
#include "jit/reference/program_desc.h"
#include "tensor/error.h"
#include "tensor/file_memory.h"

namespace proa::inline v0::jit::reference {
namespace {

namespace fs = std::filesystem;

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

std::string WithoutEnding(const std::string& path, std::string_view ending) {
  if (path.size() > ending.size() &&
      path.compare(path.size() - ending.size(), ending.size(), ending) == 0) {
    return path.substr(0, path.size() - ending.size());
  }
  return path;
}

// Whether pages of bytes that were read are let go of, one tensor behind the
// other: else the weights would lie in memory twice until the last is copied.
enum class Pages { kStay, kGo };

// The parameters of `desc` from one stream.
std::map<std::string, Tensor> AllParameters(const ProgramDesc& desc,
                                            std::string_view bytes,
                                            const std::string& what,
                                            Pages pages) {
  std::map<std::string, Tensor> out;
  TensorStream stream(bytes, what);
  const std::vector<std::string> names = PersistableNames(desc);
  for (const std::string& name : names) {
    // Some writers leave out what the program does not read; what there is
    // comes in the same order, so that it must fit to the end.
    const size_t before = stream.at();
    out[name] = stream.Next(absl::CEscape(name));
    if (pages == Pages::kGo) {
      ForgetFilePages(bytes.data() + before,
                      static_cast<int64_t>(stream.at() - before));
    }
  }
  PROA_REQUIRE(stream.AtEnd(), what, ": there is more than the ", names.size(),
               " tensors of the program; it belongs to another program");
  return out;
}

void CheckFits(const ProgramDesc& desc,
               const std::map<std::string, Tensor>& found,
               const std::string& what) {
  for (const BlockDesc& b : desc.blocks) {
    for (const VarDesc& v : b.vars) {
      const auto at = found.find(v.name);
      if (at == found.end() || !v.persistable) continue;
      const Tensor& t = at->second;
      bool fits = !v.dtype.has_value() || *v.dtype == t.dtype();
      if (!v.dims.empty()) {
        fits &= static_cast<int>(v.dims.size()) == t.rank();
        for (int i = 0; fits && i < t.rank(); ++i) {
          fits = v.dims[i] < 0 || v.dims[i] == t.size(i);
        }
      }
      PROA_REQUIRE(fits, what, ": tensor '", absl::CEscape(v.name), "' is ",
                   Describe(t), ", which is not what the program says");
    }
  }
}

absl::StatusOr<Module> Load(const WholeFile& program, const ModelFiles& files,
                            Training training) {
  std::string in = files.program;
  try {
    const ProgramDesc desc = ParseProgramDesc(program.bytes());
    std::map<std::string, Tensor> all;
    const std::vector<std::string> names = PersistableNames(desc);
    if (!files.parameters.empty() && !names.empty()) {
      const absl::StatusOr<WholeFile> file = WholeFile::Read(files.parameters);
      if (!file.ok()) return file.status();
      in.clear();
      all = AllParameters(desc, file->bytes(), files.parameters, Pages::kGo);
      CheckFits(desc, all, files.parameters);
    } else if (!names.empty()) {
      const fs::path folder = fs::path(files.program).parent_path();
      for (const std::string& name : names) {
        // A name of a program is no way out of its folder.
        PROA_REQUIRE(
            !name.empty() && name[0] != '/' && name.find("..") == name.npos &&
                name.find('\0') == name.npos,
            "variable '", absl::CEscape(name), "' is no name of a file");
        const std::string path = (folder / name).string();
        const absl::StatusOr<WholeFile> file = WholeFile::Read(path);
        if (!file.ok()) return file.status();
        TensorStream stream(file->bytes(), path);
        all[name] = stream.Next(name);
        PROA_REQUIRE(stream.AtEnd(), path, ": there is more than one tensor");
      }
      CheckFits(desc, all, folder.string());
    }
    in = files.program;
    return Import(
        desc,
        [&](const std::string& name) {
          const auto at = all.find(name);
          return at == all.end() ? Tensor() : at->second;
        },
        training);
  } catch (const Error& e) {
    return absl::Status(e.code(), in.empty()
                                      ? std::string(e.what())
                                      : absl::StrCat(in, ": ", e.what()));
  }
}

// The first byte of theirs is the tag of the first block; that of ours is a
// letter. What is neither is reported by our reader.
bool IsOurs(std::string_view program) {
  return program.empty() || program[0] != '\n';
}

}  // namespace

absl::StatusOr<ModelFiles> FindModel(const std::string& named) {
  std::error_code ignored;
  if (fs::is_directory(named, ignored) && !IsFile(named + ".pdmodel")) {
    const fs::path folder = named;
    const std::string model = (folder / "__model__").string();
    if (IsFile(model)) {
      const std::string params = (folder / "__params__").string();
      return ModelFiles{model, IsFile(params) ? params : ""};
    }
    std::string found;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() != ".pdmodel") continue;
      if (!found.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(named,
                         ": the folder holds several .pdmodel; name "
                         "one of them"));
      }
      found = entry.path().string();
    }
    if (!found.empty()) {
      return FindModel(WithoutEnding(found, ".pdmodel"));
    }
    if (IsFile((folder / "model.json").string()) ||
        IsFile((folder / "inference.json").string())) {
      return absl::UnimplementedError(absl::StrCat(
          named,
          ": a program of PaddlePaddle 3 (.json) is not supported; save "
          "it with FLAGS_enable_pir_api=0"));
    }
  }
  const std::string prefix =
      WithoutEnding(WithoutEnding(named, ".pdmodel"), ".pdiparams");
  if (IsFile(prefix + ".pdmodel") || !IsFile(prefix)) {
    if (!IsFile(prefix + ".pdmodel") && IsFile(prefix + ".json")) {
      return absl::UnimplementedError(absl::StrCat(
          prefix,
          ".json: a program of PaddlePaddle 3 is not supported; save "
          "it with FLAGS_enable_pir_api=0"));
    }
    const std::string params = prefix + ".pdiparams";
    return ModelFiles{prefix + ".pdmodel", params};
  }
  // A program by its full name.
  const std::string beside =
      (fs::path(prefix).parent_path() / "__params__").string();
  const bool together =
      fs::path(prefix).filename() == "__model__" && IsFile(beside);
  return ModelFiles{prefix, together ? beside : ""};
}

absl::StatusOr<Module> LoadAnyModel(const ModelFiles& files,
                                    Parameters parameters, Training training) {
  const absl::StatusOr<WholeFile> program = WholeFile::Read(files.program);
  if (!program.ok()) return program.status();
  if (!IsOurs(program->bytes())) return Load(*program, files, training);
  return LoadModuleFiles(
      files.program,
      files.parameters.empty()
          ? WithoutEnding(files.program, ".pdmodel") + ".pdiparams"
          : files.parameters,
      parameters, training);
}

absl::StatusOr<Module> LoadAnyModel(const std::string& prefix_or_folder,
                                    Parameters parameters, Training training) {
  const absl::StatusOr<ModelFiles> files = FindModel(prefix_or_folder);
  if (!files.ok()) return files.status();
  return LoadAnyModel(*files, parameters, training);
}

absl::StatusOr<Module> ParseAnyModel(std::string_view program,
                                     std::string_view parameters) {
  return IsOurs(program) ? ParseModuleFiles(program, parameters)
                         : ParseReferenceModel(program, parameters);
}

absl::StatusOr<Tensor> ParseReferenceTensor(std::string_view bytes,
                                            const std::string& what) {
  try {
    TensorStream stream(bytes, what);
    Tensor t = stream.Next("tensor");
    PROA_REQUIRE(stream.AtEnd(), what, ": there is more than one tensor");
    return t;
  } catch (const Error& e) {
    return absl::Status(e.code(), e.what());
  }
}

absl::StatusOr<WholeProgram> ParseWholeProgram(
    std::string_view program, const Autograd& autograd,
    const std::map<std::string, Tensor>& tensors) {
  try {
    return ImportWhole(ParseProgramDesc(program), autograd, tensors);
  } catch (const Error& e) {
    return absl::Status(e.code(), e.what());
  }
}

absl::StatusOr<Module> ParseReferenceModel(std::string_view program,
                                           std::string_view parameters) {
  try {
    const ProgramDesc desc = ParseProgramDesc(program);
    const std::map<std::string, Tensor> all =
        AllParameters(desc, parameters, "parameters", Pages::kStay);
    CheckFits(desc, all, "parameters");
    return Import(desc, [&](const std::string& name) {
      const auto at = all.find(name);
      return at == all.end() ? Tensor() : at->second;
    });
  } catch (const Error& e) {
    return absl::Status(e.code(), e.what());
  }
}

}  // namespace proa::inline v0::jit::reference
