// The inference library: runs a saved model (proa.jit.save,
// proa.static.save_inference_model) from C++ without Python and without the
// training parts.
//
//   proa::inference::Config config("model");  // model.pdmodel and .pdiparams
//   auto predictor = proa::inference::CreatePredictor(config);
//   auto input = predictor->GetInputHandle(predictor->GetInputNames()[0]);
//   input->Reshape({1, 1, 8, 8});
//   input->CopyFromCpu(pixels);                       // const float*
//   predictor->Run();
//   auto output = predictor->GetOutputHandle(predictor->GetOutputNames()[0]);
//   std::vector<float> scores(output->numel());
//   output->CopyToCpu(scores.data());
//
// Only the standard library appears here. Errors are std::runtime_error
// (proa::Error) with a sentence that says what and where. A Predictor is for
// one thread at a time; Clone gives another thread its own, sharing weights and
// the execution plan. A run changes nothing of the process: its number of
// threads holds on its own thread, while it lasts.
#ifndef PROA_INFERENCE_PREDICTOR_H_
#define PROA_INFERENCE_PREDICTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace proa::inline v0::inference {

enum class DataType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

class Config {
 public:
  Config() = default;
  // Path without the suffixes .pdmodel and .pdiparams; either full name is fine
  // too.
  explicit Config(const std::string& model) { SetModel(model); }
  // A folder is fine as well, one that PaddlePaddle 1.x or 2.x saved
  // (`__model__` and the parameters): their programs become ours when they are
  // loaded.
  void SetModel(const std::string& model);
  // The files of program and parameters by their full names, such as
  // PaddlePaddle wrote them.
  Config(const std::string& program, const std::string& parameters) {
    SetModel(program, parameters);
  }
  void SetModel(const std::string& program, const std::string& parameters) {
    model_ = program;
    parameters_ = parameters;
  }
  const std::string& model() const { return model_; }
  const std::string& parameters() const { return parameters_; }

  // Threads of one run; 0 (the default): as many as the process may use.
  void SetCpuMathLibraryNumThreads(int n) { threads_ = n; }
  int cpu_math_library_num_threads() const { return threads_; }

 private:
  std::string model_;
  std::string parameters_;
  int threads_ = 0;
};

// An input or output of a predictor, by name. Lives as long as its predictor.
class TensorHandle {
 public:
  virtual ~TensorHandle() = default;
  virtual const std::string& name() const = 0;
  virtual DataType type() const = 0;
  // Of an output: after Run. Unknown sizes of an input are -1 before Reshape.
  virtual std::vector<int64_t> shape() const = 0;
  virtual int64_t numel() const = 0;

  // Sets the shape of an input; the next CopyFromCpu reads that many elements.
  virtual void Reshape(const std::vector<int64_t>& shape) = 0;
  // T must be the type of the tensor: float, double, bool, [u]int8_t, int16_t,
  // int32_t, int64_t.
  template <typename T>
  void CopyFromCpu(const T* data);
  template <typename T>
  void CopyToCpu(T* data) const;

 protected:
  virtual void CopyFrom(const void* data, DataType type) = 0;
  virtual void CopyTo(void* data, DataType type) const = 0;
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual std::vector<std::string> GetInputNames() const = 0;
  virtual std::vector<std::string> GetOutputNames() const = 0;
  // Throws for a name that is not among them.
  virtual TensorHandle* GetInputHandle(const std::string& name) = 0;
  virtual TensorHandle* GetOutputHandle(const std::string& name) = 0;
  virtual void Run() = 0;
  virtual std::unique_ptr<Predictor> Clone() const = 0;
};

std::unique_ptr<Predictor> CreatePredictor(const Config& config);

// Loads a library of custom operators (proa/extension.h), so that models with
// them can be loaded. Call it before CreatePredictor; again is nothing. The
// library is code of this process: load only what you trust.
void LoadExtension(const std::string& path);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_PREDICTOR_H_
