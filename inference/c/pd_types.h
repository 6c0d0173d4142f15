/* Types of the C interface of the inference library, and how it reports errors.
 *
 * Names and shapes are those of PaddlePaddle's C interface where it has them.
 * What a function returns by a pointer to an array or PD_Cstr is the caller's,
 * to be given to its own ..Destroy function; Destroy functions take null.
 *
 * Errors: no exception leaves the library. A function that fails returns NULL,
 * false or an empty value, and the thread's PD_LastStatus and
 * PD_LastErrorMessage say why, until another call of the thread fails or
 * PD_ClearError. */
#ifndef PROA_INFERENCE_C_PD_TYPES_H_
#define PROA_INFERENCE_C_PD_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PD_CAPI __attribute__((visibility("default")))

/* Grows when functions or fields are added; what there is stays. */
#define PD_API_VERSION 1

typedef int8_t PD_Bool;
typedef struct PD_Config PD_Config;
typedef struct PD_Predictor PD_Predictor;
typedef struct PD_Tensor PD_Tensor;

typedef enum PD_Status {
  PD_OK = 0,
  PD_INVALID_ARGUMENT = 1, /* bad arguments, shapes, types, files */
  PD_NOT_FOUND = 2,        /* no such file */
  PD_OUT_OF_MEMORY = 3,
  PD_UNSUPPORTED = 4,
  PD_FAILED = 5 /* everything else */
} PD_Status;

typedef enum PD_PrecisionType {
  PD_PRECISION_FLOAT32 = 0,
  PD_PRECISION_INT8,
  PD_PRECISION_HALF
} PD_PrecisionType;

typedef enum PD_PlaceType {
  PD_PLACE_UNK = -1,
  PD_PLACE_CPU,
  PD_PLACE_GPU,
  PD_PLACE_XPU
} PD_PlaceType;

typedef enum PD_DataType {
  PD_DATA_UNK = -1,
  PD_DATA_FLOAT32,
  PD_DATA_INT32,
  PD_DATA_INT64,
  PD_DATA_UINT8,
  PD_DATA_INT8,
  PD_DATA_FLOAT64,
  PD_DATA_BOOL,
  PD_DATA_INT16,
  PD_DATA_FLOAT16,
  PD_DATA_BFLOAT16
} PD_DataType;

typedef struct PD_OneDimArrayInt32 {
  size_t size;
  int32_t* data;
} PD_OneDimArrayInt32;

typedef struct PD_OneDimArraySize {
  size_t size;
  size_t* data;
} PD_OneDimArraySize;

typedef struct PD_OneDimArrayCstr {
  size_t size;
  char** data;
} PD_OneDimArrayCstr;

/* `size` counts the closing zero. */
typedef struct PD_Cstr {
  size_t size;
  char* data;
} PD_Cstr;

typedef struct PD_TwoDimArraySize {
  size_t size;
  PD_OneDimArraySize** data;
} PD_TwoDimArraySize;

PD_CAPI void PD_OneDimArrayInt32Destroy(PD_OneDimArrayInt32* array);
PD_CAPI void PD_OneDimArraySizeDestroy(PD_OneDimArraySize* array);
PD_CAPI void PD_OneDimArrayCstrDestroy(PD_OneDimArrayCstr* array);
PD_CAPI void PD_TwoDimArraySizeDestroy(PD_TwoDimArraySize* array);
PD_CAPI void PD_CstrDestroy(PD_Cstr* text);

/* Of the last call of this thread that failed; PD_OK and "" if none has. The
 * text is good until the next call that fails. */
PD_CAPI PD_Status PD_LastStatus(void);
PD_CAPI const char* PD_LastErrorMessage(void);
PD_CAPI void PD_ClearError(void);

/* "version: 0.1.0\n", for as long as the process lives. */
PD_CAPI const char* PD_GetVersion(void);
/* PD_API_VERSION of the library, which may be newer than that of the header. */
PD_CAPI int32_t PD_GetApiVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* PROA_INFERENCE_C_PD_TYPES_H_ */
