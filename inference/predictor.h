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
// (proa::Error) with a sentence that says what and where.
//
// Threads: every method may be called from many threads at once. Run(inputs,
// &outputs) shares nothing between calls but the weights: that is how many
// threads use one predictor. Run() reads and writes the predictor's handles,
// which are one set: threads that each want their own take a Clone, which
// shares weights and plan and costs a few handles. A run changes nothing of the
// process: its number of threads holds on its own thread, while it lasts.
#ifndef PROA_INFERENCE_PREDICTOR_H_
#define PROA_INFERENCE_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "inference/config.h"
#include "inference/tensor.h"
#include "inference/types.h"

namespace proa::inline v0::inference {

// What is called with a tensor of an operation: the operation's name, the
// tensor's ("%7" where the program gives it none), the tensor.
using TensorHook = std::function<void(
    const std::string& op, const std::string& name, const Tensor& tensor)>;

class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual std::vector<std::string> GetInputNames() const = 0;
  virtual std::vector<std::string> GetOutputNames() const = 0;
  // What the model declares; unknown sizes are -1.
  virtual std::map<std::string, std::vector<int64_t>> GetInputTensorShape()
      const = 0;
  virtual std::map<std::string, DataType> GetInputTypes() const = 0;
  // Throws for a name that is not among them.
  virtual std::unique_ptr<Tensor> GetInputHandle(const std::string& name) = 0;
  virtual std::unique_ptr<Tensor> GetOutputHandle(const std::string& name) = 0;
  // From the input handles to the output handles; true, or it throws.
  virtual bool Run() = 0;
  // The same without handles: `inputs` in the order of GetInputNames (those
  // with a name may come in any order); `outputs` become new arrays, in the
  // order of GetOutputNames.
  virtual bool Run(const std::vector<Tensor>& inputs,
                   std::vector<Tensor>* outputs) const = 0;
  // Hooks see what each operation reads (parameters too), and what it makes,
  // while runs last, on the thread of the run; they are called in the order in
  // which they were registered, and cannot be taken back. The operations are
  // those that run, after the passes (SwitchIrOptim(false): those of the
  // model); what is computed of parameters alone was computed before. What a
  // hook throws ends the run, and Run throws it. A clone has no hooks. Throw
  // where ONNX Runtime runs the model.
  virtual void RegisterInputHook(const TensorHook& hook) = 0;
  virtual void RegisterOutputHook(const TensorHook& hook) = 0;
  // Shares weights and plan.
  virtual std::unique_ptr<Predictor> Clone() const = 0;
  // Nothing is kept between runs but inputs and outputs.
  virtual void ClearIntermediateTensor() {}
  // Lets go of the outputs, and gives memory that the process does not use back
  // to the system; returns how many bytes.
  virtual uint64_t TryShrinkMemory() = 0;
};

std::shared_ptr<Predictor> CreatePredictor(const Config& config);

// Predictors of one model, which share weights and plan.
class PredictorPool {
 public:
  // Throws unless size is positive.
  explicit PredictorPool(const Config& config, size_t size = 1);
  // Throws for a number that is not less than size.
  Predictor* Retrieve(size_t index) const;
  Predictor* Retrive(size_t index) const { return Retrieve(index); }

 private:
  std::vector<std::shared_ptr<Predictor>> predictors_;
};

// "version: 0.1.0\n".
std::string GetVersion();
// There is no TensorRT: 0, 0, 0.
std::tuple<int, int, int> GetTrtCompileVersion();
std::tuple<int, int, int> GetTrtRuntimeVersion();

// Loads a library of custom operators (proa/extension.h), so that models with
// them can be loaded. Call it before CreatePredictor; again is nothing. The
// library is code of this process: load only what you trust.
void LoadExtension(const std::string& path);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_PREDICTOR_H_
