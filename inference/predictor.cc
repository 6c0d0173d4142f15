#include "inference/predictor.h"

#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/executor.h"
#include "jit/program_file.h"
#include "jit/reference/load.h"
#include "ops/extension/loader.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/execution.h"

namespace proa::inline v0::inference {
namespace {

// The public enumeration repeats the core's, so that the header needs no other;
// the compiler sees to it that each has the same name and number.
#define PROA_SAME_NUMBER(e, T, name, kind) \
  static_assert(static_cast<int>(DataType::e) == static_cast<int>(DType::e));
PROA_FOR_EACH_DTYPE(PROA_SAME_NUMBER)
#undef PROA_SAME_NUMBER

DataType TypeOf(DType t) { return static_cast<DataType>(t); }
DType ToDType(DataType t) { return static_cast<DType>(t); }
absl::string_view TypeName(DataType t) {
  return {Name(ToDType(t)).data(), Name(ToDType(t)).size()};
}

class Handle final : public TensorHandle {
 public:
  Handle(std::string name, TensorMeta meta, bool is_input)
      : name_(std::move(name)), meta_(std::move(meta)), is_input_(is_input) {}

  const std::string& name() const override { return name_; }
  DataType type() const override { return TypeOf(meta_.dtype); }
  std::vector<int64_t> shape() const override {
    const Shape& s = tensor_.defined() ? tensor_.shape() : meta_.shape;
    std::vector<int64_t> sizes(s.begin(), s.end());
    for (int64_t& n : sizes) n = IsUnknown(n) ? kUnknownDim : n;
    return sizes;
  }
  int64_t numel() const override {
    return tensor_.defined() ? tensor_.numel() : meta_.shape.numel();
  }

  void Reshape(const std::vector<int64_t>& shape) override {
    PROA_REQUIRE(is_input_, "output '", name_, "' cannot be reshaped");
    const Shape given{std::span<const int64_t>(shape)};
    bool fits = given.rank() == meta_.shape.rank();
    for (int i = 0; fits && i < given.rank(); ++i) {
      fits = IsUnknown(meta_.shape[i]) || meta_.shape[i] == given[i];
    }
    PROA_REQUIRE(fits, "input '", name_, "' takes shape ",
                 ToString(meta_.shape), ", not ", ToString(given));
    if (tensor_.defined() && tensor_.shape() == given) return;
    tensor_ = Tensor::Empty(given, meta_.dtype);
  }

  const Tensor& tensor() const { return tensor_; }
  void set_tensor(Tensor t) { tensor_ = std::move(t); }
  const TensorMeta& meta() const { return meta_; }

 protected:
  void CopyFrom(const void* data, DataType type) override {
    CheckType(type);
    PROA_REQUIRE(is_input_, "output '", name_, "' cannot be written");
    if (!tensor_.defined() && meta_.shape.known()) {
      tensor_ = Tensor::Empty(meta_.shape, meta_.dtype);
    }
    PROA_REQUIRE(tensor_.defined(), "input '", name_, "' has shape ",
                 ToString(meta_.shape), "; call Reshape first");
    if (tensor_.numel() == 0) return;
    PROA_REQUIRE(data != nullptr, "input '", name_, "': data is null");
    // The elements of the last run may still be in the user's hands as an
    // output that is a view of this input.
    if (tensor_.storage()->use_count() > 1) {
      tensor_ = Tensor::Empty(tensor_.shape(), meta_.dtype);
    }
    std::memcpy(tensor_.raw_data(), data, static_cast<size_t>(tensor_.bytes()));
  }

  void CopyTo(void* data, DataType type) const override {
    CheckType(type);
    PROA_REQUIRE(tensor_.defined(), "'", name_,
                 "' has no elements yet; call Run first");
    const Tensor plain = Contiguous(tensor_.place().is_cpu()
                                        ? tensor_
                                        : proa::CopyTo(tensor_, Place{}, true));
    if (plain.numel() == 0) return;
    PROA_REQUIRE(data != nullptr, "output '", name_, "': data is null");
    std::memcpy(data, plain.raw_data(), static_cast<size_t>(plain.bytes()));
  }

 private:
  void CheckType(DataType type) const {
    if (type != this->type()) {
      ThrowTypeError(absl::StrCat("'", name_, "' is ", TypeName(this->type()),
                                  ", not ", TypeName(type)));
    }
  }

  std::string name_;
  TensorMeta meta_;
  bool is_input_;
  Tensor tensor_;
};

// What clones share.
struct Model {
  jit::Module module;
  std::unique_ptr<jit::Executor> executor;
  int threads = 0;
};

class ProgramPredictor final : public Predictor {
 public:
  explicit ProgramPredictor(std::shared_ptr<const Model> model)
      : model_(std::move(model)) {
    const jit::Module& m = model_->module;
    for (jit::ValueId id : m.inputs) {
      const jit::ValueInfo& v = m.program->value(id);
      inputs_.push_back(std::make_unique<Handle>(v.name, v.meta, true));
    }
    for (size_t i = 0; i < m.outputs.size(); ++i) {
      outputs_.push_back(std::make_unique<Handle>(
          m.output_names[i], m.program->value(m.outputs[i]).meta, false));
    }
  }

  std::vector<std::string> GetInputNames() const override {
    return Names(inputs_);
  }
  std::vector<std::string> GetOutputNames() const override {
    return Names(outputs_);
  }
  TensorHandle* GetInputHandle(const std::string& name) override {
    return Find(inputs_, "input", name);
  }
  TensorHandle* GetOutputHandle(const std::string& name) override {
    return Find(outputs_, "output", name);
  }

  void Run() override {
    const ExecutionScope scope({.num_threads = model_->threads});
    std::vector<std::pair<jit::ValueId, Tensor>> feeds;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      PROA_REQUIRE(inputs_[i]->tensor().defined(), "input '",
                   inputs_[i]->name(), "' is not set");
      feeds.emplace_back(model_->module.inputs[i], inputs_[i]->tensor());
    }
    const std::vector<Tensor> results = model_->executor->Run(feeds);
    for (size_t i = 0; i < results.size(); ++i) {
      outputs_[i]->set_tensor(results[i]);
    }
  }

  std::unique_ptr<Predictor> Clone() const override {
    return std::make_unique<ProgramPredictor>(model_);
  }

 private:
  using Handles = std::vector<std::unique_ptr<Handle>>;

  static std::vector<std::string> Names(const Handles& handles) {
    std::vector<std::string> names;
    for (const auto& h : handles) names.push_back(h->name());
    return names;
  }

  static TensorHandle* Find(const Handles& handles, const char* kind,
                            const std::string& name) {
    for (const auto& h : handles) {
      if (h->name() == name) return h.get();
    }
    FailArgument("no ", kind, " is named '", name, "'; the model has ",
                 absl::StrJoin(Names(handles), ", "));
  }

  std::shared_ptr<const Model> model_;
  Handles inputs_;
  Handles outputs_;
};

}  // namespace

void Config::SetModel(const std::string& model) {
  model_ = model;
  for (const char* suffix : {".pdmodel", ".pdiparams"}) {
    const size_t n = std::strlen(suffix);
    if (model_.size() > n &&
        model_.compare(model_.size() - n, n, suffix) == 0) {
      model_.resize(model_.size() - n);
    }
  }
}

std::unique_ptr<Predictor> CreatePredictor(const Config& config) {
  PROA_REQUIRE(!config.model().empty(), "inference: no model is set");
  PROA_REQUIRE(config.cpu_math_library_num_threads() >= 0,
               "inference: the number of threads is negative");
  absl::StatusOr<jit::Module> module =
      config.parameters().empty()
          ? jit::reference::LoadAnyModel(config.model())
          : jit::reference::LoadAnyModel(jit::reference::ModelFiles{
                config.model(), config.parameters()});
  ThrowIfError(module.status());
  auto model = std::make_shared<Model>();
  model->module = *std::move(module);
  model->executor = std::make_unique<jit::Executor>(*model->module.program,
                                                    model->module.outputs);
  model->threads = config.cpu_math_library_num_threads();
  return std::make_unique<ProgramPredictor>(std::move(model));
}

#define PROA_INFERENCE_COPY(T)                       \
  template <>                                        \
  void TensorHandle::CopyFromCpu<T>(const T* data) { \
    CopyFrom(data, TypeOf(kDTypeOf<T>));             \
  }                                                  \
  template <>                                        \
  void TensorHandle::CopyToCpu<T>(T * data) const {  \
    CopyTo(data, TypeOf(kDTypeOf<T>));               \
  }
PROA_INFERENCE_COPY(bool)
PROA_INFERENCE_COPY(uint8_t)
PROA_INFERENCE_COPY(int8_t)
PROA_INFERENCE_COPY(int16_t)
PROA_INFERENCE_COPY(int32_t)
PROA_INFERENCE_COPY(int64_t)
PROA_INFERENCE_COPY(float)
PROA_INFERENCE_COPY(double)
#undef PROA_INFERENCE_COPY

void LoadExtension(const std::string& path) { ops::LoadExtension(path); }

}  // namespace proa::inline v0::inference
