#include "inference/predictor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "inference/compile.h"
#include "inference/tensor_state.h"
#include "inference/version.h"
#include "jit/executor.h"
#include "jit/program_file.h"
#include "jit/reference/load.h"
#include "ops/extension/loader.h"
#include "tensor/allocator.h"
#include "tensor/error.h"
#include "tensor/execution.h"

namespace proa::inline v0::inference {
namespace {

// What clones share.
struct Model {
  jit::Module module;
  std::shared_ptr<const jit::Executor> executor;
  int threads = 0;

  const jit::ValueInfo& Input(size_t i) const {
    return module.program->value(module.inputs[i]);
  }

  std::vector<proa::Tensor> Run(const std::vector<proa::Tensor>& inputs) const {
    const ExecutionScope scope({.num_threads = threads});
    std::vector<std::pair<jit::ValueId, proa::Tensor>> feeds;
    for (size_t i = 0; i < inputs.size(); ++i) {
      PROA_REQUIRE(inputs[i].defined(), "input '", Input(i).name,
                   "' is not set");
      feeds.emplace_back(module.inputs[i], inputs[i]);
    }
    return executor->Run(feeds);
  }
};

class ProgramPredictor final : public Predictor {
 public:
  explicit ProgramPredictor(std::shared_ptr<const Model> model)
      : model_(std::move(model)) {
    const jit::Module& m = model_->module;
    for (size_t i = 0; i < m.inputs.size(); ++i) {
      const jit::ValueInfo& v = model_->Input(i);
      inputs_.push_back(std::make_shared<TensorState>(
          v.name, v.meta, TensorState::Kind::kInput));
    }
    for (size_t i = 0; i < m.outputs.size(); ++i) {
      outputs_.push_back(std::make_shared<TensorState>(
          m.output_names[i], m.program->value(m.outputs[i]).meta,
          TensorState::Kind::kOutput));
    }
  }

  std::vector<std::string> GetInputNames() const override {
    return Names(inputs_);
  }
  std::vector<std::string> GetOutputNames() const override {
    return Names(outputs_);
  }

  std::map<std::string, std::vector<int64_t>> GetInputTensorShape()
      const override {
    std::map<std::string, std::vector<int64_t>> shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& s = model_->Input(i).meta.shape;
      for (int64_t n : s) {
        shapes[inputs_[i]->name()].push_back(IsUnknown(n) ? kUnknownDim : n);
      }
      if (s.rank() == 0) shapes[inputs_[i]->name()] = {};
    }
    return shapes;
  }
  std::map<std::string, DataType> GetInputTypes() const override {
    std::map<std::string, DataType> types;
    for (const auto& i : inputs_) types[i->name()] = i->type();
    return types;
  }

  std::unique_ptr<Tensor> GetInputHandle(const std::string& name) override {
    return Find(inputs_, "input", name);
  }
  std::unique_ptr<Tensor> GetOutputHandle(const std::string& name) override {
    return Find(outputs_, "output", name);
  }

  bool Run() override {
    std::vector<proa::Tensor> inputs;
    for (const auto& i : inputs_) inputs.push_back(i->Take());
    const std::vector<proa::Tensor> results = model_->Run(inputs);
    for (size_t i = 0; i < results.size(); ++i) outputs_[i]->Give(results[i]);
    return true;
  }

  bool Run(const std::vector<Tensor>& inputs,
           std::vector<Tensor>* outputs) const override {
    PROA_REQUIRE(outputs != nullptr, "Run: outputs is null");
    PROA_REQUIRE(inputs.size() == inputs_.size(), "the model takes ",
                 inputs_.size(), " inputs, ", inputs.size(), " given");
    std::vector<proa::Tensor> given(inputs_.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      proa::Tensor& at = given[NumberOf(inputs[i].name(), i)];
      PROA_REQUIRE(!at.defined(), "input '", inputs[i].name(),
                   "' is given twice");
      at = inputs[i].state().Take();
    }
    std::vector<proa::Tensor> results = model_->Run(given);
    std::vector<Tensor> out;
    for (size_t i = 0; i < results.size(); ++i) {
      out.push_back(Tensor(outputs_[i]->name()));
      out.back().state().Give(std::move(results[i]));
    }
    *outputs = std::move(out);
    return true;
  }

  std::unique_ptr<Predictor> Clone() const override {
    return std::make_unique<ProgramPredictor>(model_);
  }

  uint64_t TryShrinkMemory() override {
    for (const auto& o : outputs_) o->Clear();
    return static_cast<uint64_t>(CpuAllocator().Release());
  }

 private:
  using Handles = std::vector<std::shared_ptr<TensorState>>;

  static std::vector<std::string> Names(const Handles& handles) {
    std::vector<std::string> names;
    for (const auto& h : handles) names.push_back(h->name());
    return names;
  }

  static std::unique_ptr<Tensor> Find(const Handles& handles, const char* kind,
                                      const std::string& name) {
    for (const auto& h : handles) {
      if (h->name() == name) return std::make_unique<Tensor>(h);
    }
    FailArgument("no ", kind, " is named '", name, "'; the model has ",
                 absl::StrJoin(Names(handles), ", "));
  }

  // Which input an array is: by its name, or the one that stands there.
  size_t NumberOf(const std::string& name, size_t position) const {
    if (name.empty()) return position;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i]->name() == name) return i;
    }
    FailArgument("no input is named '", name, "'; the model has ",
                 absl::StrJoin(Names(inputs_), ", "));
  }

  std::shared_ptr<const Model> model_;
  Handles inputs_;
  Handles outputs_;
};

absl::StatusOr<jit::Module> Load(const Config& config) {
  if (config.model_from_memory()) {
    return jit::reference::ParseAnyModel(config.program_bytes(),
                                         config.parameter_bytes());
  }
  PROA_REQUIRE(!config.model().empty(), "inference: no model is set");
  const jit::Parameters kind = config.enable_memory_optim()
                                   ? jit::Parameters::kMapped
                                   : jit::Parameters::kCopied;
  if (config.parameters().empty()) {
    return jit::reference::LoadAnyModel(config.model(), kind);
  }
  return jit::reference::LoadAnyModel(
      jit::reference::ModelFiles{config.model(), config.parameters()}, kind);
}

CompileSettings SettingsOf(const Config& config) {
  CompileSettings out;
  if (config.ir_optim()) out.passes = config.passes().AllPasses();
  if (config.ir_debug()) {
    out.dump_folder = config.optim_cache_dir();
    out.dumped_passes = config.debugged_passes();
  }
  if (!config.mkldnn_bfloat16_enabled()) return out;
  out.low.emplace().keeps_io = !config.low_precision_io_enabled();
  amp::Autocast& autocast = out.low->autocast;
  autocast.lower = config.mixed_precision_ops();
  autocast.raise = config.full_precision_ops();
  if (!config.bfloat16_ops().empty()) {
    std::vector<std::string> kept = config.bfloat16_ops();
    kept.insert(kept.end(), autocast.lower.begin(), autocast.lower.end());
    for (std::string& op : OpsBeside(kept)) autocast.raise.push_back(op);
  }
  return out;
}

}  // namespace

std::shared_ptr<Predictor> CreatePredictor(const Config& config) {
  PROA_REQUIRE(config.cpu_math_library_num_threads() >= 0,
               "inference: the number of threads is negative");
  absl::StatusOr<jit::Module> module = Load(config);
  ThrowIfError(module.status());
  auto model = std::make_shared<Model>();
  Compiled compiled = Compile(*std::move(module), SettingsOf(config));
  model->module = std::move(compiled.module);
  model->executor = std::move(compiled.executor);
  // The executor holds those that it needs.
  jit::Program& program = *model->module.program;
  for (const jit::ValueId id : program.captured()) {
    program.value(id).captured = proa::Tensor();
  }
  model->threads = config.cpu_math_library_num_threads();
  return std::make_shared<ProgramPredictor>(std::move(model));
}

PredictorPool::PredictorPool(const Config& config, size_t size) {
  PROA_REQUIRE(size > 0, "PredictorPool: size must be positive");
  predictors_.push_back(CreatePredictor(config));
  while (predictors_.size() < size) {
    predictors_.push_back(predictors_[0]->Clone());
  }
}

Predictor* PredictorPool::Retrieve(size_t index) const {
  PROA_REQUIRE(index < predictors_.size(), "PredictorPool: there are ",
               predictors_.size(), " predictors; none has the number ", index);
  return predictors_[index].get();
}

std::string GetVersion() {
  return absl::StrCat("version: ", PROA_INFERENCE_VERSION_STRING, "\n");
}
std::tuple<int, int, int> GetTrtCompileVersion() { return {0, 0, 0}; }
std::tuple<int, int, int> GetTrtRuntimeVersion() { return {0, 0, 0}; }

void LoadExtension(const std::string& path) { ops::LoadExtension(path); }

}  // namespace proa::inline v0::inference
