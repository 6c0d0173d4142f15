/* An input or output of a predictor: proa::inference::Tensor in C. Functions
 * whose names end in a type fail unless that is the type of the tensor. */
#ifndef PROA_INFERENCE_C_PD_TENSOR_H_
#define PROA_INFERENCE_C_PD_TENSOR_H_

#include "inference/c/pd_types.h"

#ifdef __cplusplus
extern "C" {
#endif

PD_CAPI void PD_TensorDestroy(PD_Tensor* tensor);
PD_CAPI void PD_TensorReshape(PD_Tensor* tensor, size_t rank, int32_t* shape);
PD_CAPI PD_OneDimArrayInt32* PD_TensorGetShape(PD_Tensor* tensor);
PD_CAPI PD_DataType PD_TensorGetDataType(PD_Tensor* tensor);
/* Good for as long as the tensor. */
PD_CAPI const char* PD_TensorGetName(PD_Tensor* tensor);
PD_CAPI void PD_TensorSetLod(PD_Tensor* tensor, PD_TwoDimArraySize* lod);
PD_CAPI PD_TwoDimArraySize* PD_TensorGetLod(PD_Tensor* tensor);

/* PD_TensorMutableDataFloat(tensor, PD_PLACE_CPU): the elements to write, after
 * PD_TensorReshape. PD_TensorDataFloat(tensor, &place, &size): those to read.
 * PD_TensorCopyFromCpuFloat and PD_TensorCopyToCpuFloat move as many elements
 * as the shape says. PD_TensorShareExternalDataFloat: runs read the caller's
 * memory. */
#define PD_DECLARE_TENSOR_FUNCTIONS(Name, T)                                 \
  PD_CAPI T* PD_TensorMutableData##Name(PD_Tensor* tensor,                   \
                                        PD_PlaceType place);                 \
  PD_CAPI T* PD_TensorData##Name(PD_Tensor* tensor, PD_PlaceType* place,     \
                                 int32_t* size);                             \
  PD_CAPI void PD_TensorCopyFromCpu##Name(PD_Tensor* tensor, const T* data); \
  PD_CAPI void PD_TensorCopyToCpu##Name(PD_Tensor* tensor, T* data);         \
  PD_CAPI void PD_TensorShareExternalData##Name(                             \
      PD_Tensor* tensor, const T* data, size_t rank, const int64_t* shape);
#define PD_FOR_EACH_TENSOR_TYPE(X) \
  X(Float, float)                  \
  X(Double, double)                \
  X(Int64, int64_t)                \
  X(Int32, int32_t)                \
  X(Int16, int16_t)                \
  X(Uint8, uint8_t)                \
  X(Int8, int8_t)
PD_FOR_EACH_TENSOR_TYPE(PD_DECLARE_TENSOR_FUNCTIONS)
#undef PD_DECLARE_TENSOR_FUNCTIONS

#ifdef __cplusplus
}
#endif

#endif /* PROA_INFERENCE_C_PD_TENSOR_H_ */
