#include "inference/c/pd_predictor.h"

#include <algorithm>
#include <cstring>

#include "inference/c/handles.h"
#include "tensor/error.h"

namespace c = proa::inference::c;
using proa::inference::Predictor;
using proa::inference::Tensor;

struct PD_Results {
  std::vector<Tensor> tensors;
  std::vector<std::vector<int64_t>> shapes;
};

namespace {

Predictor& In(const PD_Predictor* p) {
  return *c::Of(p, "PD_Predictor").predictor;
}

// Fields that every version of PD_Array has.
constexpr size_t kLeast = sizeof(PD_Array);

Tensor Input(const PD_Array& a) {
  Tensor t(a.name == nullptr ? "" : a.name);
  PROA_REQUIRE(a.rank == 0 || a.shape != nullptr, "PD_Array '", t.name(),
               "': shape is NULL");
  const std::vector<int64_t> shape(a.shape, a.shape + a.rank);
  const proa::inference::DataType type = c::FromC(a.type);
  t.ShareExternalData(a.data, shape, type);
  const auto need = static_cast<size_t>(t.numel()) *
                    static_cast<size_t>(GetNumBytesOfDataType(type));
  PROA_REQUIRE(a.bytes == need, "PD_Array '", t.name(), "' has ", a.bytes,
               " bytes; its shape and type need ", need);
  return t;
}

}  // namespace

PD_Predictor* PD_PredictorCreate(PD_Config* config) {
  const std::unique_ptr<PD_Config> owned(config);
  return c::Try<PD_Predictor*>([&] {
    return new PD_Predictor{CreatePredictor(c::Of(config, "PD_Config").config)};
  });
}
PD_Predictor* PD_PredictorClone(PD_Predictor* predictor) {
  return c::Try<PD_Predictor*>(
      [&] { return new PD_Predictor{In(predictor).Clone()}; });
}
void PD_PredictorDestroy(PD_Predictor* predictor) { delete predictor; }

PD_OneDimArrayCstr* PD_PredictorGetInputNames(PD_Predictor* predictor) {
  return c::Try<PD_OneDimArrayCstr*>(
      [&] { return c::NewTexts(In(predictor).GetInputNames()); });
}
PD_OneDimArrayCstr* PD_PredictorGetOutputNames(PD_Predictor* predictor) {
  return c::Try<PD_OneDimArrayCstr*>(
      [&] { return c::NewTexts(In(predictor).GetOutputNames()); });
}
size_t PD_PredictorGetInputNum(PD_Predictor* predictor) {
  return c::Try<size_t>([&] { return In(predictor).GetInputNames().size(); });
}
size_t PD_PredictorGetOutputNum(PD_Predictor* predictor) {
  return c::Try<size_t>([&] { return In(predictor).GetOutputNames().size(); });
}
PD_Tensor* PD_PredictorGetInputHandle(PD_Predictor* predictor,
                                      const char* name) {
  return c::Try<PD_Tensor*>([&] {
    c::NotNull(name, "PD_PredictorGetInputHandle: name");
    return new PD_Tensor{In(predictor).GetInputHandle(name)};
  });
}
PD_Tensor* PD_PredictorGetOutputHandle(PD_Predictor* predictor,
                                       const char* name) {
  return c::Try<PD_Tensor*>([&] {
    c::NotNull(name, "PD_PredictorGetOutputHandle: name");
    return new PD_Tensor{In(predictor).GetOutputHandle(name)};
  });
}
PD_Bool PD_PredictorRun(PD_Predictor* predictor) {
  return c::Try<PD_Bool>([&] { return In(predictor).Run(); });
}
void PD_PredictorClearIntermediateTensor(PD_Predictor* predictor) {
  c::Guard([&] { In(predictor).ClearIntermediateTensor(); });
}
uint64_t PD_PredictorTryShrinkMemory(PD_Predictor* predictor) {
  return c::Try<uint64_t>([&] { return In(predictor).TryShrinkMemory(); });
}

PD_Status PD_PredictorRunArrays(const PD_Predictor* predictor,
                                const PD_Array* inputs, size_t num_inputs,
                                PD_Results** results) {
  if (results != nullptr) *results = nullptr;
  return c::Guard([&] {
    c::NotNull(results, "PD_PredictorRunArrays: results");
    if (num_inputs > 0) c::NotNull(inputs, "PD_PredictorRunArrays: inputs");
    std::vector<Tensor> tensors;
    const char* at = reinterpret_cast<const char*>(inputs);
    for (size_t i = 0; i < num_inputs; ++i) {
      size_t size = 0;
      std::memcpy(&size, at, sizeof(size));
      PROA_REQUIRE(size >= kLeast, "PD_Array ", i, ": struct_size is ", size,
                   "; set it to sizeof(PD_Array)");
      tensors.push_back(Input(*reinterpret_cast<const PD_Array*>(at)));
      at += size;
    }
    auto out = std::make_unique<PD_Results>();
    In(predictor).Run(tensors, &out->tensors);
    for (const Tensor& t : out->tensors) out->shapes.push_back(t.shape());
    *results = out.release();
  });
}
size_t PD_ResultsSize(const PD_Results* results) {
  return c::Try<size_t>(
      [&] { return c::Of(results, "PD_Results").tensors.size(); });
}
PD_Status PD_ResultsGet(const PD_Results* results, size_t index,
                        PD_Array* array) {
  return c::Guard([&] {
    const PD_Results& all = c::Of(results, "PD_Results");
    c::NotNull(array, "PD_ResultsGet: array");
    PROA_REQUIRE(array->struct_size >= kLeast,
                 "PD_ResultsGet: struct_size of array is ", array->struct_size,
                 "; set it to sizeof(PD_Array)");
    PROA_REQUIRE(index < all.tensors.size(), "PD_ResultsGet: there are ",
                 all.tensors.size(), " results; none has the number ", index);
    const Tensor& t = all.tensors[index];
    array->name = t.name().c_str();
    array->type = c::ToC(t.type());
    array->rank = all.shapes[index].size();
    array->shape = all.shapes[index].data();
    array->data = t.data(t.type());
    array->bytes = static_cast<size_t>(t.numel()) *
                   static_cast<size_t>(GetNumBytesOfDataType(t.type()));
  });
}
void PD_ResultsDestroy(PD_Results* results) { delete results; }
