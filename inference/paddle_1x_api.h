// Names of PaddlePaddle's C++ inference library of 1.x and early 2.x, over
// those of this one, so that old programs compile, with warnings, and run: both
// by handles (ZeroCopyTensor) and by arrays (PaddleTensor). Part of
// paddle_inference_api.h.
#ifndef PROA_INFERENCE_PADDLE_1X_API_H_
#define PROA_INFERENCE_PADDLE_1X_API_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/cipher.h"
#include "inference/config.h"
#include "inference/predictor.h"
#include "inference/tensor.h"
#include "inference/types.h"

#define PROA_OLD_NAME(now) [[deprecated("use paddle_infer::" now)]]

namespace paddle {

using proa::inference::Cipher;
using proa::inference::CipherUtils;
using proa::inference::MakeCipher;

using PaddleDType = proa::inference::DataType;
using PaddlePlace = proa::inference::PlaceType;
using PaddlePassBuilder = proa::inference::PassStrategy;
using PassStrategy = proa::inference::PassStrategy;

inline int PaddleDtypeSize(PaddleDType dtype) {
  return proa::inference::GetNumBytesOfDataType(dtype);
}
inline std::string get_version() { return proa::inference::GetVersion(); }

// Bytes that it owns, or those of somebody else.
class PaddleBuf {
 public:
  PaddleBuf() = default;
  explicit PaddleBuf(size_t length) { Resize(length); }
  // Somebody else's, which stay for as long as this is used.
  PaddleBuf(void* data, size_t length) { Reset(data, length); }
  PaddleBuf(const PaddleBuf& other) { *this = other; }
  PaddleBuf& operator=(const PaddleBuf& other) {
    if (this == &other) return *this;
    if (other.owned_ == nullptr) {
      Reset(other.data_, other.length_);
    } else {
      Resize(other.length_);
      std::memcpy(data_, other.data_, length_);
    }
    return *this;
  }
  PaddleBuf(PaddleBuf&&) = default;
  PaddleBuf& operator=(PaddleBuf&&) = default;

  // What was there is lost if it was too small or not its own.
  void Resize(size_t length) {
    if (owned_ == nullptr || length > capacity_) {
      owned_ = std::make_unique<char[]>(length);
      data_ = owned_.get();
      capacity_ = length;
    }
    length_ = length;
  }
  void Reset(void* data, size_t length) {
    owned_.reset();
    capacity_ = 0;
    data_ = data;
    length_ = length;
  }
  bool empty() const { return length_ == 0; }
  void* data() const { return data_; }
  size_t length() const { return length_; }

 private:
  std::unique_ptr<char[]> owned_;
  size_t capacity_ = 0;
  void* data_ = nullptr;
  size_t length_ = 0;
};

struct PaddleTensor {
  std::string name;  // may be left out of inputs, which then go by their order
  std::vector<int> shape;
  PaddleBuf data;
  PaddleDType dtype = PaddleDType::FLOAT32;
  std::vector<std::vector<size_t>> lod;
};

namespace old {

class ZeroCopyTensor : public proa::inference::Tensor {
 public:
  explicit ZeroCopyTensor(const proa::inference::Tensor& handle)
      : proa::inference::Tensor(handle) {}
  template <typename T>
  void copy_from_cpu(const T* data) {
    CopyFromCpu(data);
  }
  template <typename T>
  void copy_to_cpu(T* data) const {
    CopyToCpu(data);
  }
  std::vector<int> shape() const {
    const std::vector<int64_t> sizes = proa::inference::Tensor::shape();
    return {sizes.begin(), sizes.end()};
  }
};

class PaddlePredictor {
 public:
  explicit PaddlePredictor(std::shared_ptr<proa::inference::Predictor> now)
      : now_(std::move(now)) {}

  std::vector<std::string> GetInputNames() const {
    return now_->GetInputNames();
  }
  std::vector<std::string> GetOutputNames() const {
    return now_->GetOutputNames();
  }
  std::map<std::string, std::vector<int64_t>> GetInputTensorShape() const {
    return now_->GetInputTensorShape();
  }
  std::unique_ptr<ZeroCopyTensor> GetInputTensor(const std::string& name) {
    return std::make_unique<ZeroCopyTensor>(*now_->GetInputHandle(name));
  }
  std::unique_ptr<ZeroCopyTensor> GetOutputTensor(const std::string& name) {
    return std::make_unique<ZeroCopyTensor>(*now_->GetOutputHandle(name));
  }
  bool ZeroCopyRun() { return now_->Run(); }

  // Inputs are copied, and so are results; `batch_size` is what the shapes say.
  bool Run(const std::vector<PaddleTensor>& inputs,
           std::vector<PaddleTensor>* outputs, int /*batch_size*/ = -1) {
    std::vector<proa::inference::Tensor> given, made;
    for (const PaddleTensor& t : inputs) {
      proa::inference::Tensor& x = given.emplace_back(t.name);
      x.Reshape(t.shape);
      x.CopyFromCpu(t.data.data(), t.data.length(), t.dtype);
      x.SetLoD(t.lod);
    }
    now_->Run(given, &made);
    outputs->assign(made.size(), PaddleTensor());
    const std::vector<std::string> names = now_->GetOutputNames();
    for (size_t i = 0; i < made.size(); ++i) {
      PaddleTensor& t = (*outputs)[i];
      const std::vector<int64_t> sizes = made[i].shape();
      t.name = names[i];
      t.shape.assign(sizes.begin(), sizes.end());
      t.dtype = made[i].type();
      t.data.Resize(static_cast<size_t>(made[i].numel()) *
                    static_cast<size_t>(PaddleDtypeSize(t.dtype)));
      made[i].CopyToCpu(t.data.data(), t.data.length(), t.dtype);
      t.lod = made[i].lod();
    }
    return true;
  }

  std::unique_ptr<PaddlePredictor> Clone() {
    return std::make_unique<PaddlePredictor>(now_->Clone());
  }
  void ClearIntermediateTensor() { now_->ClearIntermediateTensor(); }
  uint64_t TryShrinkMemory() { return now_->TryShrinkMemory(); }

 private:
  std::shared_ptr<proa::inference::Predictor> now_;
};

// The settings of 1.x without an analysis: no passes run.
struct NativeConfig {
  std::string model_dir;
  std::string prog_file;
  std::string param_file;
  bool use_gpu = false;  // models run on the CPU
  int device = 0;
  float fraction_of_gpu_memory = -1;
  bool specify_input_name = false;
  int cpu_math_library_num_threads = 1;
  void SetCpuMathLibraryNumThreads(int n) { cpu_math_library_num_threads = n; }
};

inline const proa::inference::Config& Now(
    const proa::inference::Config& config) {
  return config;
}
inline proa::inference::Config Now(const NativeConfig& old) {
  proa::inference::Config config;
  if (old.prog_file.empty()) {
    config.SetModel(old.model_dir);
  } else {
    config.SetModel(old.prog_file, old.param_file);
  }
  if (old.use_gpu) config.EnableUseGpu(0, old.device);
  config.SetCpuMathLibraryNumThreads(old.cpu_math_library_num_threads);
  config.SwitchIrOptim(false);
  return config;
}

}  // namespace old

using AnalysisConfig PROA_OLD_NAME("Config") = proa::inference::Config;
using NativeConfig PROA_OLD_NAME("Config") = old::NativeConfig;
using PaddlePredictor PROA_OLD_NAME("Predictor") = old::PaddlePredictor;
using ZeroCopyTensor PROA_OLD_NAME("Tensor") = old::ZeroCopyTensor;

template <typename Config>
PROA_OLD_NAME("CreatePredictor")
std::unique_ptr<old::PaddlePredictor> CreatePaddlePredictor(
    const Config& config) {
  return std::make_unique<old::PaddlePredictor>(
      proa::inference::CreatePredictor(old::Now(config)));
}

}  // namespace paddle

#undef PROA_OLD_NAME

#endif  // PROA_INFERENCE_PADDLE_1X_API_H_
