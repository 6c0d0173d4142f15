#include "inference/config.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/pass.h"
#include "tensor/error.h"

namespace proa::inline v0::inference {

PassStrategy::PassStrategy() {
  for (std::string_view name : jit::InferencePasses()) {
    passes_.emplace_back(name);
  }
}

std::vector<std::string> PassStrategy::AvailablePasses() {
  std::vector<std::string> names;
  for (const jit::Pass& p : jit::AllPasses()) names.emplace_back(p.name);
  return names;
}

void PassStrategy::DeletePass(const std::string& name) {
  std::erase(passes_, name);
}

void PassStrategy::DeletePass(size_t index) {
  PROA_REQUIRE(index < size(), "DeletePass: there are ", size(),
               " passes; none has the number ", index);
  passes_.erase(passes_.begin() + static_cast<ptrdiff_t>(index));
}

void PassStrategy::InsertPass(size_t index, const std::string& name) {
  PROA_REQUIRE(index <= size(), "InsertPass: there are ", size(),
               " passes; a pass cannot stand at ", index);
  PROA_REQUIRE(jit::FindPass(name) != nullptr, "InsertPass: no pass is named '",
               name, "'; there are ", absl::StrJoin(AvailablePasses(), ", "));
  passes_.insert(passes_.begin() + static_cast<ptrdiff_t>(index), name);
}

void Config::SetModel(const std::string& model) {
  model_ = model;
  parameters_.clear();
  for (const char* suffix : {".pdmodel", ".pdiparams"}) {
    const size_t n = std::strlen(suffix);
    if (model_.size() > n &&
        model_.compare(model_.size() - n, n, suffix) == 0) {
      model_.resize(model_.size() - n);
    }
  }
}

void Config::SetModelBuffer(const char* program, size_t program_bytes,
                            const char* parameters, size_t parameter_bytes) {
  PROA_REQUIRE(program != nullptr && program_bytes > 0,
               "SetModelBuffer: the program is empty");
  PROA_REQUIRE(parameters != nullptr || parameter_bytes == 0,
               "SetModelBuffer: parameters is null");
  program_bytes_.assign(program, program_bytes);
  parameter_bytes_.clear();
  if (parameter_bytes > 0) parameter_bytes_.assign(parameters, parameter_bytes);
  from_memory_ = true;
}

std::string Config::Summary() const {
  const auto yes = [](bool b) { return b ? "true" : "false"; };
  const std::pair<const char*, std::string> rows[] = {
      {"model", from_memory_ ? "from memory" : model_},
      {"parameters", parameters_},
      {"device", "cpu"},
      {"engine", onnxruntime_               ? "ONNX Runtime"
                 : subgraph_engine_.empty() ? "own"
                                            : subgraph_engine_ + " and own"},
      {"cpu_math_thread", threads_ == 0 ? "all" : absl::StrCat(threads_)},
      {"ir_optim", yes(ir_optim_)},
      {"ir_debug", yes(ir_debug())},
      {"passes", ir_optim_ ? absl::StrJoin(passes_.AllPasses(), " ") : ""},
      {"memory_optim", yes(memory_optim_)},
      {"enable_bfloat16", yes(bfloat16_)},
      {"low_precision_io", yes(low_precision_io_)},
      {"bfloat16_ops", absl::StrJoin(bfloat16_ops_, " ")},
      {"optim_cache_dir", dump_folder_},
      {"glog_info", yes(!quiet_)},
      {"ignored", absl::StrJoin(ignored_settings(), "; ")},
  };
  std::string out;
  for (const auto& [name, value] : rows) {
    out += name;
    out.append(20 - std::strlen(name), ' ');
    absl::StrAppend(&out, value, "\n");
  }
  return out;
}

}  // namespace proa::inline v0::inference
