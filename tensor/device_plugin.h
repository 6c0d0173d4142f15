// Loads device plugins: shared libraries with the C interface of
// tensor/device_plugin_abi.h become device kinds.
//
//   LoadDevicePlugin("/opt/acme/libproa_npu.so");
//   Tensor y = CopyTo(x, ParsePlace("npu:0"));
//
// A plugin is code of this process: load only what you trust. It is never
// unloaded.
#ifndef PROA_TENSOR_DEVICE_PLUGIN_H_
#define PROA_TENSOR_DEVICE_PLUGIN_H_

#include <string>

#include "tensor/device_plugin_abi.h"
#include "tensor/place.h"

namespace proa::inline v0 {

// Throws Error kNotFound if the file is missing, kFailedPrecondition if it is
// no plugin or was built for another major version, kAlreadyExists if its kind
// has a runtime.
DeviceKind LoadDevicePlugin(const std::string& path);

// The same for a table that is at hand, e.g. of a plugin that is linked in.
// `origin` names it in errors.
DeviceKind RegisterDevicePlugin(const ProaDevicePlugin& plugin,
                                const std::string& origin);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_DEVICE_PLUGIN_H_
