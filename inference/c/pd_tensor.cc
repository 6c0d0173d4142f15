#include "inference/c/pd_tensor.h"

#include <climits>

#include "inference/c/handles.h"
#include "tensor/error.h"

namespace c = proa::inference::c;
using proa::inference::Tensor;

namespace {

Tensor& In(const PD_Tensor* t) { return *c::Of(t, "PD_Tensor").tensor; }

proa::inference::PlaceType FromC(PD_PlaceType place) {
  PROA_REQUIRE(place == PD_PLACE_CPU, "models run on the CPU; place is ",
               static_cast<int>(place));
  return proa::inference::PlaceType::kCPU;
}

}  // namespace

void PD_TensorDestroy(PD_Tensor* tensor) { delete tensor; }

void PD_TensorReshape(PD_Tensor* tensor, size_t rank, int32_t* shape) {
  c::Guard([&] {
    if (rank > 0) c::NotNull(shape, "PD_TensorReshape: shape");
    In(tensor).Reshape(std::vector<int64_t>(shape, shape + rank));
  });
}
PD_OneDimArrayInt32* PD_TensorGetShape(PD_Tensor* tensor) {
  return c::Try<PD_OneDimArrayInt32*>([&] {
    const std::vector<int64_t> shape = In(tensor).shape();
    auto data = std::make_unique<int32_t[]>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      PROA_REQUIRE(shape[i] <= INT32_MAX, "PD_TensorGetShape: size ", shape[i],
                   " is more than an int32_t holds; PD_ResultsGet has 64 bits");
      data[i] = static_cast<int32_t>(shape[i]);
    }
    auto* const out = new PD_OneDimArrayInt32{shape.size(), data.get()};
    data.release();
    return out;
  });
}
PD_DataType PD_TensorGetDataType(PD_Tensor* tensor) {
  PD_DataType type = PD_DATA_UNK;
  c::Guard([&] { type = c::ToC(In(tensor).type()); });
  return type;
}
const char* PD_TensorGetName(PD_Tensor* tensor) {
  return c::Try<const char*>([&] { return In(tensor).name().c_str(); });
}

void PD_TensorSetLod(PD_Tensor* tensor, PD_TwoDimArraySize* lod) {
  c::Guard([&] {
    std::vector<std::vector<size_t>> levels;
    for (size_t i = 0; i < c::Of(lod, "PD_TensorSetLod: lod").size; ++i) {
      const auto& level = c::Of(lod->data[i], "PD_TensorSetLod: a level");
      levels.emplace_back(level.data, level.data + level.size);
    }
    In(tensor).SetLoD(levels);
  });
}
PD_TwoDimArraySize* PD_TensorGetLod(PD_Tensor* tensor) {
  return c::Try<PD_TwoDimArraySize*>([&] {
    const auto levels = In(tensor).lod();
    const auto destroy = [](PD_TwoDimArraySize* a) {
      PD_TwoDimArraySizeDestroy(a);
    };
    std::unique_ptr<PD_TwoDimArraySize, decltype(destroy)> out(
        new PD_TwoDimArraySize{0, nullptr}, destroy);
    out->data = new PD_OneDimArraySize* [levels.size()] {};
    out->size = levels.size();
    for (size_t i = 0; i < levels.size(); ++i) {
      out->data[i] = new PD_OneDimArraySize{0, nullptr};
      out->data[i]->data = new size_t[levels[i].size()];
      out->data[i]->size = levels[i].size();
      std::copy(levels[i].begin(), levels[i].end(), out->data[i]->data);
    }
    return out.release();
  });
}

#define PD_DEFINE_TENSOR_FUNCTIONS(Name, T)                                  \
  T* PD_TensorMutableData##Name(PD_Tensor* tensor, PD_PlaceType place) {     \
    return c::Try<T*>(                                                       \
        [&] { return In(tensor).mutable_data<T>(FromC(place)); });           \
  }                                                                          \
  T* PD_TensorData##Name(PD_Tensor* tensor, PD_PlaceType* place,             \
                         int32_t* size) {                                    \
    return c::Try<T*>([&] {                                                  \
      proa::inference::PlaceType where;                                      \
      T* const data = In(tensor).data<T>(&where, size);                      \
      if (place != nullptr) *place = PD_PLACE_CPU;                           \
      return data;                                                           \
    });                                                                      \
  }                                                                          \
  void PD_TensorCopyFromCpu##Name(PD_Tensor* tensor, const T* data) {        \
    c::Guard([&] { In(tensor).CopyFromCpu<T>(data); });                      \
  }                                                                          \
  void PD_TensorCopyToCpu##Name(PD_Tensor* tensor, T* data) {                \
    c::Guard([&] { In(tensor).CopyToCpu<T>(data); });                        \
  }                                                                          \
  void PD_TensorShareExternalData##Name(PD_Tensor* tensor, const T* data,    \
                                        size_t rank, const int64_t* shape) { \
    c::Guard([&] {                                                           \
      if (rank > 0) c::NotNull(shape, "PD_TensorShareExternalData: shape");  \
      In(tensor).ShareExternalData<T>(                                       \
          data, std::vector<int64_t>(shape, shape + rank));                  \
    });                                                                      \
  }
PD_FOR_EACH_TENSOR_TYPE(PD_DEFINE_TENSOR_FUNCTIONS)
#undef PD_DEFINE_TENSOR_FUNCTIONS
