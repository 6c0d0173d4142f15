/* The C interface of the inference library, whole.
 *
 *   PD_Config* config = PD_ConfigCreate();
 *   PD_ConfigSetModel(config, "net.pdmodel", "net.pdiparams");
 *   PD_Predictor* predictor = PD_PredictorCreate(config);
 *   if (predictor == NULL) puts(PD_LastErrorMessage());
 */
#ifndef PROA_INFERENCE_C_PD_INFERENCE_API_H_
#define PROA_INFERENCE_C_PD_INFERENCE_API_H_

#include "inference/c/pd_config.h"
#include "inference/c/pd_predictor.h"
#include "inference/c/pd_tensor.h"
#include "inference/c/pd_types.h"

#endif /* PROA_INFERENCE_C_PD_INFERENCE_API_H_ */
