#include "ops/extension/loader.h"

#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "ops/extension/host.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

// Whether a struct of the extension is large enough to hold what version 1.0
// has.
#define PROA_HAS(type, last, object) \
  ((object)->struct_size >= offsetof(type, last) + sizeof((object)->last))

template <typename... Args>
[[noreturn]] void Refuse(const std::string& name, const Args&... args) {
  Fail(absl::StatusCode::kFailedPrecondition, "extension ", name, ": ",
       args...);
}

ParamType TypeOf(const std::string& op, const ProaParam& p) {
  switch (p.kind) {
    case PROA_TENSOR:
      return ParamType::kTensor;
    case PROA_TENSOR_LIST:
      return ParamType::kTensorList;
    case PROA_VALUE_BOOL:
      return ParamType::kBool;
    case PROA_INT:
      return ParamType::kInt;
    case PROA_FLOAT:
      return ParamType::kFloat;
    case PROA_STRING:
    case PROA_STRING_LIST:
      return ParamType::kString;
    case PROA_INT_LIST:
      return ParamType::kIntList;
    case PROA_FLOAT_LIST:
      return ParamType::kFloatList;
    default:
      FailArgument(op, ": parameter ", p.name, " is of kind ", p.kind,
                   ", which is none of this release");
  }
}

CustomParam ParamOf(const std::string& op, const ProaParam* p) {
  if (p == nullptr || !PROA_HAS(ProaParam, default_value, p) ||
      p->name == nullptr) {
    FailArgument(op, ": a parameter has no name, or is of version 0");
  }
  CustomParam out;
  out.name = p->name;
  out.type = TypeOf(op, *p);
  out.optional = (p->flags & PROA_PARAM_OPTIONAL) != 0;
  out.is_string_list = p->kind == PROA_STRING_LIST;
  if (p->default_value != nullptr)
    out.default_value = FromAbi(*p->default_value);
  return out;
}

CustomOutput OutputOf(const std::string& op, const ProaOutput* o) {
  if (o == nullptr || !PROA_HAS(ProaOutput, inplace, o) || o->name == nullptr) {
    FailArgument(op, ": an output has no name, or is of version 0");
  }
  return {o->name, (o->flags & PROA_OUTPUT_LIST) != 0,
          (o->flags & PROA_OUTPUT_OPTIONAL) != 0, o->inplace};
}

CustomOpRules RulesOf(const std::string& extension, const ProaOp* op) {
  if (op == nullptr || !PROA_HAS(ProaOp, gradient, op) || op->name == nullptr) {
    Refuse(extension, "an op has no name, or is of version 0");
  }
  CustomOpRules out;
  out.name = op->name;
  if (op->doc != nullptr) out.doc = op->doc;
  for (size_t i = 0; i < op->num_params; ++i) {
    out.params.push_back(ParamOf(out.name, op->params[i]));
  }
  for (size_t i = 0; i < op->num_outputs; ++i) {
    out.outputs.push_back(OutputOf(out.name, op->outputs[i]));
  }
  constexpr uint32_t kKnownFlags = PROA_OP_COMPOSITE;
  PROA_REQUIRE((op->flags & ~kKnownFlags) == 0, out.name, ": has flags ",
               op->flags, ", which this release does not know");
  out.composite = (op->flags & PROA_OP_COMPOSITE) != 0;
  if (op->kernel != nullptr) {
    out.kernel = [op, params = out.params, name = out.name](
                     std::span<const Value> args, CustomResults& results) {
      const AbiValues values(params, args);
      const int32_t kind = op->kernel(op->data, values.data(), values.size(),
                                      &SinkResult, &results);
      if (kind != PROA_OK) ThrowExtensionError(kind, name.c_str());
    };
  }
  if (op->infer != nullptr) {
    out.infer = [op, params = out.params, name = out.name](
                    std::span<const Value> args, CustomMetas& metas) {
      const AbiValues values(params, args);
      const int32_t kind =
          op->infer(op->data, values.data(), values.size(), &SinkMeta, &metas);
      if (kind != PROA_OK) ThrowExtensionError(kind, name.c_str());
    };
  }
  if (op->gradient != nullptr) out.gradient = op->gradient;
  return out;
}

struct Loaded {
  std::mutex mutex;
  std::map<std::string, std::vector<const CustomOp*>> by_path;
};
Loaded& TheLoaded() {
  static auto* loaded = new Loaded;
  return *loaded;
}

ProaExtensionEntryFunction Open(const std::string& path,
                                const std::string& name) {
  // Its own symbols stay its own.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Refuse(name, "it cannot be loaded: ", dlerror());
  void* entry = dlsym(library, PROA_EXTENSION_ENTRY);
  if (entry == nullptr) {
    dlclose(library);
    Refuse(name, path,
           " does not export " PROA_EXTENSION_ENTRY
           "; is it built from sources that include proa/extension.h?");
  }
  return reinterpret_cast<ProaExtensionEntryFunction>(entry);
}

}  // namespace

std::vector<const CustomOp*> RegisterExtension(const ProaExtension& extension,
                                               const std::string& name) {
  if (extension.abi_major != PROA_EXTENSION_ABI_MAJOR ||
      extension.abi_minor > PROA_EXTENSION_ABI_MINOR) {
    Refuse(name, "it was built for version ", extension.abi_major, ".",
           extension.abi_minor,
           " of the extension interface; this release has ",
           PROA_EXTENSION_ABI_MAJOR, ".", PROA_EXTENSION_ABI_MINOR,
           "; build it again with the headers of this release");
  }
  if (!PROA_HAS(ProaExtension, num_ops, &extension)) {
    Refuse(name, "its table has ", extension.struct_size,
           " bytes, fewer than version 1.0 of the interface has");
  }
  if (extension.num_ops == 0) {
    Refuse(name, "it defines no op (PD_BUILD_OP, PROA_OP)");
  }
  std::vector<CustomOpRules> rules;
  for (size_t i = 0; i < extension.num_ops; ++i) {
    rules.push_back(RulesOf(name, extension.ops[i]));
  }
  return DefineOps(name, std::move(rules));
}

std::vector<const CustomOp*> LoadExtension(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    Fail(absl::StatusCode::kNotFound, "extension ", name, ": there is no file ",
         path);
  }
  Loaded& loaded = TheLoaded();
  const std::lock_guard lock(loaded.mutex);
  const auto found = loaded.by_path.find(real.string());
  if (found != loaded.by_path.end()) return found->second;
  const ProaExtensionEntryFunction entry = Open(real.string(), name);
  const ProaExtension* const extension = entry(&ExtensionHost());
  if (extension == nullptr) {
    try {
      ThrowExtensionError(PROA_ERROR, PROA_EXTENSION_ENTRY);
    } catch (const Error& e) {
      Refuse(name, e.what());
    }
  }
  return loaded.by_path[real.string()] = RegisterExtension(*extension, name);
}

std::vector<std::string> LoadedExtensions() {
  Loaded& loaded = TheLoaded();
  const std::lock_guard lock(loaded.mutex);
  std::vector<std::string> out;
  for (const auto& [path, ops] : loaded.by_path) out.push_back(path);
  return out;
}

}  // namespace proa::inline v0::ops
