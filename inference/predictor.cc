#include "inference/predictor.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "inference/compile.h"
#include "inference/engine.h"
#include "inference/onnxruntime_engine.h"
#include "inference/sequences.h"
#include "inference/subgraphs.h"
#include "inference/tensor_state.h"
#include "inference/version.h"
#include "jit/program_file.h"
#include "jit/reference/load.h"
#include "ops/extension/loader.h"
#include "tensor/allocator.h"
#include "tensor/error.h"

namespace proa::inline v0::inference {
namespace {

class EnginePredictor final : public Predictor {
 public:
  explicit EnginePredictor(std::shared_ptr<const Engine> engine)
      : engine_(std::move(engine)), hooks_(std::make_shared<const Hooks>()) {
    for (const Engine::Port& p : engine_->inputs()) {
      inputs_.push_back(std::make_shared<TensorState>(
          p.name, p.meta, TensorState::Kind::kInput));
    }
    for (const Engine::Port& p : engine_->outputs()) {
      outputs_.push_back(std::make_shared<TensorState>(
          p.name, p.meta, TensorState::Kind::kOutput));
    }
    std::vector<std::string> places;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      places.push_back(absl::StrCat("fetch_", i));
    }
    taken_lengths_ = FindLengths(Names(inputs_), Names(inputs_));
    given_lengths_ = FindLengths(Names(outputs_), places);
  }

  std::vector<std::string> GetInputNames() const override {
    return NamesBut(inputs_, taken_lengths_);
  }
  std::vector<std::string> GetOutputNames() const override {
    return NamesBut(outputs_, given_lengths_);
  }

  std::map<std::string, std::vector<int64_t>> GetInputTensorShape()
      const override {
    std::map<std::string, std::vector<int64_t>> shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& s = engine_->inputs()[i].meta.shape;
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
    for (const auto& i : inputs_) inputs.push_back(Elements(*i, i->name()));
    FillLengths([&](size_t i) { return inputs_[i]->lod(); }, inputs);
    const std::vector<proa::Tensor> results = Compute(inputs);
    for (size_t i = 0; i < results.size(); ++i) outputs_[i]->Give(results[i]);
    const std::vector<LoD> lods = LoDs(results);
    for (size_t i = 0; i < lods.size(); ++i) {
      outputs_[i]->SetLoD(lods[i]);
    }
    return true;
  }

  bool Run(const std::vector<Tensor>& inputs,
           std::vector<Tensor>* outputs) const override {
    PROA_REQUIRE(outputs != nullptr, "Run: outputs is null");
    // Those of lengths may be said by the LoD of others.
    const bool all = inputs.size() == inputs_.size();
    const std::vector<std::string> needed = GetInputNames();
    PROA_REQUIRE(all || inputs.size() == needed.size(), "the model takes ",
                 needed.size(), " inputs, ", inputs.size(), " given");
    std::vector<proa::Tensor> given(inputs_.size());
    std::vector<LoD> lods(inputs_.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t place = inputs[i].name().empty() && !all
                               ? NumberOf(needed[i], i)
                               : NumberOf(inputs[i].name(), i);
      proa::Tensor& at = given[place];
      PROA_REQUIRE(!at.defined(), "input '", inputs[i].name(),
                   "' is given twice");
      at = Elements(inputs[i].state(), inputs_[place]->name());
      lods[place] = inputs[i].lod();
    }
    FillLengths([&](size_t i) { return lods[i]; }, given);
    std::vector<proa::Tensor> results = Compute(given);
    const std::vector<LoD> found = LoDs(results);
    std::vector<Tensor> out;
    for (size_t i = 0; i < found.size(); ++i) {
      out.push_back(Tensor(outputs_[i]->name()));
      out.back().state().Give(std::move(results[i]));
      out.back().state().SetLoD(found[i]);
    }
    *outputs = std::move(out);
    return true;
  }

  std::unique_ptr<Predictor> Clone() const override {
    return std::make_unique<EnginePredictor>(engine_);
  }

  void RegisterInputHook(const TensorHook& hook) override {
    AddHook(hook, &Hooks::inputs);
  }
  void RegisterOutputHook(const TensorHook& hook) override {
    AddHook(hook, &Hooks::outputs);
  }

  uint64_t TryShrinkMemory() override {
    for (const auto& o : outputs_) o->Clear();
    return static_cast<uint64_t>(CpuAllocator().Release());
  }

 private:
  using Handles = std::vector<std::shared_ptr<TensorState>>;
  using LoD = std::vector<std::vector<size_t>>;

  // Gives inputs of lengths what the LoD of an input says of its sequences.
  void FillLengths(const std::function<LoD(size_t)>& lod,
                   std::vector<proa::Tensor>& inputs) const {
    for (const Lengths& l : taken_lengths_) {
      if (inputs[l.at].defined()) continue;
      const LoD said = lod(l.of);
      PROA_REQUIRE(l.level < said.size(), "input '", inputs_[l.of]->name(),
                   "' is of sequences; SetLoD says where they begin and end");
      inputs[l.at] = LengthsOfEnds(said[l.level]);
    }
  }
  // Of each result that is none of lengths: these come behind the others.
  std::vector<LoD> LoDs(const std::vector<proa::Tensor>& results) const {
    std::vector<LoD> lods(results.size() - given_lengths_.size());
    for (const Lengths& l : given_lengths_) {
      if (l.of < lods.size())
        lods[l.of].push_back(EndsOfLengths(results[l.at]));
    }
    return lods;
  }

  std::vector<proa::Tensor> Compute(
      const std::vector<proa::Tensor>& inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      PROA_REQUIRE(inputs[i].defined(), "input '", engine_->inputs()[i].name,
                   "' is not set");
    }
    // A run keeps those that it began with.
    std::shared_ptr<const Hooks> hooks;
    {
      const std::lock_guard lock(mutex_);
      hooks = hooks_;
    }
    return engine_->Run(inputs, *hooks);
  }

  // Undefined where nobody has tried to give it some.
  static proa::Tensor Elements(const TensorState& state,
                               const std::string& input) {
    proa::Tensor t = state.Take();
    const std::string refused = t.defined() ? std::string() : state.refused();
    PROA_REQUIRE(refused.empty(), "input '", input, "' is not set: ", refused);
    return t;
  }

  void AddHook(const TensorHook& hook, std::vector<Hook> Hooks::*where) {
    PROA_REQUIRE(hook != nullptr, "the hook is empty");
    engine_->CheckHooks();
    const std::lock_guard lock(mutex_);
    auto more = std::make_shared<Hooks>(*hooks_);
    (more.get()->*where)
        .push_back([hook](std::string_view op, const std::string& name,
                          const proa::Tensor& t) {
          Tensor shown(name);
          shown.state().Give(t);
          hook(std::string(op), name, shown);
        });
    hooks_ = std::move(more);
  }

  static std::vector<std::string> Names(const Handles& handles) {
    std::vector<std::string> names;
    for (const auto& h : handles) names.push_back(h->name());
    return names;
  }

  static std::vector<std::string> NamesBut(const Handles& handles,
                                           const std::vector<Lengths>& but) {
    std::vector<std::string> names;
    for (size_t i = 0; i < handles.size(); ++i) {
      if (std::ranges::none_of(but, [i](auto& l) { return l.at == i; })) {
        names.push_back(handles[i]->name());
      }
    }
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

  const std::shared_ptr<const Engine> engine_;
  Handles inputs_;
  Handles outputs_;
  std::vector<Lengths> taken_lengths_;  // of sequences, by inputs
  std::vector<Lengths> given_lengths_;  // by results
  mutable std::mutex mutex_;
  std::shared_ptr<const Hooks> hooks_;  // a new one when they change
};

absl::StatusOr<jit::Module> Load(const Config& config) {
  if (config.model_from_memory()) {
    return jit::reference::ParseAnyModel(config.program_bytes(),
                                         config.parameter_bytes());
  }
  PROA_REQUIRE(!config.model().empty(), "inference: no model is set");
  PROA_REQUIRE(!config.model().ends_with(".onnx"),
               "inference: ", config.model(),
               " is a file of ONNX: EnableONNXRuntime runs it; Python "
               "(proa.onnx.load) makes it a model of this library");
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

std::shared_ptr<const Engine> InOnnxRuntime(const Config& config) {
  const std::string& path = config.model();
  PROA_REQUIRE(config.model_from_memory() || path.ends_with(".onnx"),
               "EnableONNXRuntime: ONNX Runtime reads files of ONNX, and '",
               path,
               "' is none by its name; write one of the model in Python "
               "(proa.onnx.export, or proa.inference with enable_onnxruntime, "
               "which does so by itself), or leave EnableONNXRuntime out");
  PROA_REQUIRE(!config.mkldnn_bfloat16_enabled(),
               "EnableONNXRuntime: ONNX Runtime computes in the types of the "
               "file; EnableMkldnnBfloat16 cannot change them");
  const OnnxRuntimeSettings settings = {
      config.onnxruntime_library(), config.cpu_math_library_num_threads(),
      config.ir_optim() || config.ort_optimization_enabled()};
  return config.model_from_memory()
             ? OnnxRuntimeEngineOfBytes(config.program_bytes(), settings)
             : OnnxRuntimeEngineOfFile(path, settings);
}

std::shared_ptr<const Engine> WithSubgraphEngine(const jit::Module& module,
                                                 const Config& config) {
  const auto engine = FindSubgraphEngine(config.subgraph_engine());
  const int threads = config.cpu_math_library_num_threads();
  CompileSettings settings = SettingsOf(config);
  // Between parts lies what the program declares.
  if (settings.low.has_value()) settings.low->keeps_io = true;
  return Split(
      module, *engine, {threads, config.ir_optim(), config.optim_cache_dir()},
      [&](jit::Module part) {
        return MakeProgramEngine(Compile(std::move(part), settings), threads);
      },
      [&](const std::string& sentence) {
        if (!config.glog_info_disabled()) {
          std::fprintf(stderr, "proa: %s\n", sentence.c_str());
        }
      });
}

}  // namespace

std::shared_ptr<Predictor> CreatePredictor(const Config& config) {
  PROA_REQUIRE(config.cpu_math_library_num_threads() >= 0,
               "inference: the number of threads is negative");
  if (!config.glog_info_disabled()) {
    for (const std::string& text : config.ignored_settings()) {
      std::fprintf(stderr, "proa: %s\n", text.c_str());
    }
  }
  if (config.use_onnxruntime()) {
    return std::make_shared<EnginePredictor>(InOnnxRuntime(config));
  }
  absl::StatusOr<jit::Module> module = Load(config);
  ThrowIfError(module.status());
  return std::make_shared<EnginePredictor>(
      config.subgraph_engine().empty()
          ? MakeProgramEngine(Compile(*std::move(module), SettingsOf(config)),
                              config.cpu_math_library_num_threads())
          : WithSubgraphEngine(*module, config));
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
