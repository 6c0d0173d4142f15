// What a predictor runs, and how: the files of the model, threads, passes.
//
//   proa::inference::Config config("model");  // model.pdmodel and .pdiparams
//   config.SetCpuMathLibraryNumThreads(4);
//   config.pass_builder()->DeletePass("fuse_norm");
//
// Models run on the CPU. Settings of GPUs and of other engines
// (accepted_settings.h) change nothing, say so, and are answered truthfully.
#ifndef PROA_INFERENCE_CONFIG_H_
#define PROA_INFERENCE_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "inference/accepted_settings.h"

namespace proa::inline v0::inference {

// The passes over the program, in the order in which they run.
class PassStrategy {
 public:
  PassStrategy();  // the default ones

  const std::vector<std::string>& AllPasses() const { return passes_; }
  // Names that can be inserted, sorted.
  static std::vector<std::string> AvailablePasses();

  // Takes a pass out wherever it stands. A name that is not in the list is
  // nothing: programs delete passes of PaddlePaddle, which are not here.
  void DeletePass(const std::string& name);
  void DeletePass(size_t index);
  // Throw for a name that no pass has, or a place behind the end.
  void InsertPass(size_t index, const std::string& name);
  void AppendPass(const std::string& name) { InsertPass(size(), name); }
  void ClearPasses() { passes_.clear(); }
  // The list as text, a line for each.
  std::string DebugString() const {
    std::string out = "Passes to apply:\n";
    for (const std::string& name : passes_) out += "  - " + name + "\n";
    return out;
  }
  const std::vector<std::string>& GetAllPasses() const { return passes_; }
  void TurnOnDebug() { debug_ = true; }
  bool debug() const { return debug_; }
  size_t size() const { return passes_.size(); }

 private:
  std::vector<std::string> passes_;
  bool debug_ = false;
};

class Config : public AcceptedSettings {
 public:
  Config() = default;
  // Path without the suffixes .pdmodel and .pdiparams, or either full name; or
  // a folder, also one that PaddlePaddle 1.x or 2.x saved (`__model__` and the
  // parameters): their programs become ours when they are loaded.
  explicit Config(const std::string& model) { SetModel(model); }
  void SetModel(const std::string& model);
  // The files of program and parameters by their full names.
  Config(const std::string& program, const std::string& parameters) {
    SetModel(program, parameters);
  }
  void SetModel(const std::string& program, const std::string& parameters) {
    model_ = program;
    parameters_ = parameters;
  }
  void SetProgFile(const std::string& path) { model_ = path; }
  void SetParamsFile(const std::string& path) { parameters_ = path; }
  // The contents of the two files; copied.
  void SetModelBuffer(const char* program, size_t program_bytes,
                      const char* parameters, size_t parameter_bytes);
  bool model_from_memory() const { return from_memory_; }
  const std::string& program_bytes() const { return program_bytes_; }
  const std::string& parameter_bytes() const { return parameter_bytes_; }

  // What was set, by this library's names and by PaddlePaddle's.
  const std::string& model() const { return model_; }
  const std::string& parameters() const { return parameters_; }
  const std::string& model_dir() const { return model_; }
  const std::string& prog_file() const { return model_; }
  const std::string& params_file() const { return parameters_; }

  // A config may be used for any number of predictors.
  bool is_valid() const { return true; }

  // Threads of one run; 0 (the default): as many as the process may use.
  void SetCpuMathLibraryNumThreads(int n) { threads_ = n; }
  int cpu_math_library_num_threads() const { return threads_; }

  // Whether passes run over the program: yes unless switched off.
  void SwitchIrOptim(bool on = true) { ir_optim_ = on; }
  bool ir_optim() const { return ir_optim_; }
  // Writes the program as text, before the passes and after each, into the
  // folder of SetOptimCacheDir, or the current one: "ir_00_loaded.txt", ...
  // With `passes`, after these only.
  void SwitchIrDebug(bool on = true,
                     const std::vector<std::string>& passes = {}) {
    ir_debug_ = on;
    debugged_passes_ = passes;
  }
  bool ir_debug() const { return ir_debug_ || passes_.debug(); }
  const std::vector<std::string>& debugged_passes() const {
    return debugged_passes_;
  }
  void SetOptimCacheDir(const std::string& folder) { dump_folder_ = folder; }
  const std::string& optim_cache_dir() const { return dump_folder_; }
  PassStrategy* pass_builder() { return &passes_; }
  const PassStrategy& passes() const { return passes_; }
  void DeletePass(const std::string& name) { passes_.DeletePass(name); }

  // On from the start: weights stay in the file, mapped, where this library's
  // writer made it. Processes that run the model share them, and what was
  // packed for a kernel takes no memory twice. Do not change the file in place
  // meanwhile; saving over it is fine. Off, they are copied, into large pages:
  // faster for a decoder, which reads all its weights for each token. (What a
  // run computes is released after its last use in any case.)
  void EnableMemoryOptim(bool on = true) { memory_optim_ = on; }
  bool enable_memory_optim() const { return memory_optim_; }

  // oneDNN computes where it is the fastest, in any case.
  void EnableMKLDNN() {}
  bool mkldnn_enabled() const { return true; }

  // CreatePredictor does not write ignored_settings().
  void DisableGlogInfo() { quiet_ = true; }
  bool glog_info_disabled() const { return quiet_; }

  // Matrix products and convolutions compute in bfloat16, their weights
  // converted when the model is loaded; inputs and results keep their types,
  // unless EnableLowPrecisionIO. (proa.inference.convert_to_mixed_precision in
  // Python does it once, for a file.)
  void EnableMkldnnBfloat16() { bfloat16_ = true; }
  bool mkldnn_bfloat16_enabled() const { return bfloat16_; }
  void EnableLowPrecisionIO(bool on = true) { low_precision_io_ = on; }
  bool low_precision_io_enabled() const { return low_precision_io_; }
  // Which ops do so, by the names that they have here or in PaddlePaddle: these
  // alone (all if empty; names of ops that could not are nothing), these not,
  // these as well. CreatePredictor throws for the last two if no op has a name.
  void SetBfloat16Op(std::unordered_set<std::string> ops) {
    bfloat16_ops_.assign(ops.begin(), ops.end());
  }
  void Exp_DisableMixedPrecisionOps(
      const std::unordered_set<std::string>& ops) {
    full_precision_ops_.assign(ops.begin(), ops.end());
  }
  void Exp_EnableMixedPrecisionOps(const std::unordered_set<std::string>& ops) {
    mixed_precision_ops_.assign(ops.begin(), ops.end());
  }
  const std::vector<std::string>& bfloat16_ops() const { return bfloat16_ops_; }
  const std::vector<std::string>& full_precision_ops() const {
    return full_precision_ops_;
  }
  const std::vector<std::string>& mixed_precision_ops() const {
    return mixed_precision_ops_;
  }

  // ONNX Runtime runs the model, a file of ONNX ("net.onnx") or its contents
  // (SetModelBuffer without parameters). Its library is loaded by
  // CreatePredictor, which throws where it cannot be: `library`, or what the
  // environment variable PROA_ONNXRUNTIME_LIBRARY names, or the system's
  // libonnxruntime.so.1. SwitchIrOptim(false) switches off its optimizations
  // (EnableORTOptimization: on all the same).
  void EnableONNXRuntime(const std::string& library = "") {
    onnxruntime_ = true;
    onnxruntime_library_ = library;
  }
  void DisableONNXRuntime() { onnxruntime_ = false; }
  bool use_onnxruntime() const { return onnxruntime_; }
  const std::string& onnxruntime_library() const {
    return onnxruntime_library_;
  }
  // The engine of this name computes those parts of the program that it claims:
  // one that a library which is linked or loaded has registered
  // (RegisterSubgraphEngine in inference/subgraphs.h; of this project's own
  // sources). CreatePredictor throws where there is none of the name, and
  // writes what the engine declines, which runs here. SetOptimCacheDir is where
  // the engine may keep what it makes. "" for none.
  void EnableSubgraphEngine(const std::string& name) {
    subgraph_engine_ = name;
  }
  const std::string& subgraph_engine() const { return subgraph_engine_; }
  void EnableORTOptimization() { ort_optimization_ = true; }
  bool ort_optimization_enabled() const { return ort_optimization_; }

  // The settings, a line for each.
  std::string Summary() const;

 private:
  std::string model_;
  std::string parameters_;
  std::string program_bytes_;
  std::string parameter_bytes_;
  std::string dump_folder_;
  std::string onnxruntime_library_;
  std::string subgraph_engine_;
  PassStrategy passes_;
  int threads_ = 0;
  bool from_memory_ = false;
  bool ir_optim_ = true;
  bool ir_debug_ = false;
  bool memory_optim_ = true;
  bool quiet_ = false;
  bool onnxruntime_ = false;
  bool ort_optimization_ = false;
  bool bfloat16_ = false;
  bool low_precision_io_ = false;
  std::vector<std::string> debugged_passes_;
  std::vector<std::string> bfloat16_ops_;
  std::vector<std::string> full_precision_ops_;
  std::vector<std::string> mixed_precision_ops_;
};

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_CONFIG_H_
