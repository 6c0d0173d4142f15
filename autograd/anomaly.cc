#include "autograd/anomaly.h"

namespace proa::inline v0::autograd {
namespace {

AnomalyHandlers installed;

}  // namespace

namespace internal {
constinit std::atomic<AnomalyMode> anomaly_mode{AnomalyMode::kOff};
}  // namespace internal

void InstallAnomalyHandlers(const AnomalyHandlers& handlers) {
  installed = handlers;
}

const AnomalyHandlers& InstalledAnomalyHandlers() { return installed; }

}  // namespace proa::inline v0::autograd
