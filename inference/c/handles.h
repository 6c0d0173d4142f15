// What stands behind the opaque types of the C interface, and the guard that
// turns exceptions into PD_Status; of this folder.
#ifndef PROA_INFERENCE_C_HANDLES_H_
#define PROA_INFERENCE_C_HANDLES_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/c/pd_types.h"
#include "inference/config.h"
#include "inference/predictor.h"
#include "inference/tensor.h"

struct PD_Config {
  proa::inference::Config config;
  std::string folder;  // as PD_ConfigSetModelDir said
};

struct PD_Predictor {
  std::shared_ptr<proa::inference::Predictor> predictor;
};

struct PD_Tensor {
  std::unique_ptr<proa::inference::Tensor> tensor;
};

namespace proa::inline v0::inference::c {

// Calls `body` and notes what it throws.
PD_Status Guard(const std::function<void()>& body);

// What `body` returns, or R().
template <typename R>
R Try(const std::function<R()>& body) {
  R result{};
  Guard([&] { result = body(); });
  return result;
}

// Throws for null, naming the function's argument.
const void* NotNull(const void* p, const char* what);
template <typename T>
T& Of(T* p, const char* what) {
  NotNull(p, what);
  return *p;
}

PD_DataType ToC(DataType type);
DataType FromC(PD_DataType type);  // throws for what is none

// New arrays of the caller's.
PD_Cstr* NewCstr(const std::string& text);
PD_OneDimArrayCstr* NewTexts(const std::vector<std::string>& texts);

}  // namespace proa::inline v0::inference::c

#endif  // PROA_INFERENCE_C_HANDLES_H_
