/* A loaded model: proa::inference::Predictor in C.
 *
 * PD_PredictorRun works on the predictor's handles: one thread at a time, or a
 * clone each. PD_PredictorRunArrays may be called from any number of threads at
 * once. */
#ifndef PROA_INFERENCE_C_PD_PREDICTOR_H_
#define PROA_INFERENCE_C_PD_PREDICTOR_H_

#include "inference/c/pd_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the config, and destroys it, also when it fails and returns NULL. */
PD_CAPI PD_Predictor* PD_PredictorCreate(PD_Config* config);
/* Shares weights and plan. */
PD_CAPI PD_Predictor* PD_PredictorClone(PD_Predictor* predictor);
PD_CAPI void PD_PredictorDestroy(PD_Predictor* predictor);

PD_CAPI PD_OneDimArrayCstr* PD_PredictorGetInputNames(PD_Predictor* predictor);
PD_CAPI PD_OneDimArrayCstr* PD_PredictorGetOutputNames(PD_Predictor* predictor);
PD_CAPI size_t PD_PredictorGetInputNum(PD_Predictor* predictor);
PD_CAPI size_t PD_PredictorGetOutputNum(PD_Predictor* predictor);
/* To be destroyed with PD_TensorDestroy; may outlive the predictor. */
PD_CAPI PD_Tensor* PD_PredictorGetInputHandle(PD_Predictor* predictor,
                                              const char* name);
PD_CAPI PD_Tensor* PD_PredictorGetOutputHandle(PD_Predictor* predictor,
                                               const char* name);
PD_CAPI PD_Bool PD_PredictorRun(PD_Predictor* predictor);
PD_CAPI void PD_PredictorClearIntermediateTensor(PD_Predictor* predictor);
/* How many bytes went back to the system. */
PD_CAPI uint64_t PD_PredictorTryShrinkMemory(PD_Predictor* predictor);

/* An array that goes in or comes out. `struct_size` is sizeof(PD_Array) of the
 * caller's header: fields that later headers add are then taken as absent. */
typedef struct PD_Array {
  size_t struct_size;
  const char* name; /* of an input; NULL: the one that stands there */
  PD_DataType type;
  size_t rank;
  const int64_t* shape; /* rank sizes */
  const void* data;     /* elements in order; not changed */
  size_t bytes;
} PD_Array;

typedef struct PD_Results PD_Results;

/* Runs on `inputs`, which must stay while it lasts; `*results` becomes the
 * outputs, NULL on failure. */
PD_CAPI PD_Status PD_PredictorRunArrays(const PD_Predictor* predictor,
                                        const PD_Array* inputs,
                                        size_t num_inputs,
                                        PD_Results** results);
PD_CAPI size_t PD_ResultsSize(const PD_Results* results);
/* Fills `*array`, whose struct_size the caller has set. Pointers are good until
 * PD_ResultsDestroy. */
PD_CAPI PD_Status PD_ResultsGet(const PD_Results* results, size_t index,
                                PD_Array* array);
PD_CAPI void PD_ResultsDestroy(PD_Results* results);

#ifdef __cplusplus
}
#endif

#endif /* PROA_INFERENCE_C_PD_PREDICTOR_H_ */
