// Loads extensions: shared libraries with the C interface of
// include/proa/extension_abi.h, whose ops join the registry.
//
//   LoadExtension("./libmy_ops.so");
//   FindOp("my_relu");
//
// An extension is code of this process: load only what you trust. It is never
// unloaded.
#ifndef PROA_OPS_EXTENSION_LOADER_H_
#define PROA_OPS_EXTENSION_LOADER_H_

#include <string>
#include <vector>

#include "ops/extension/custom_op.h"
#include "ops/extension/include/proa/extension_abi.h"

namespace proa::inline v0::ops {

// The ops of the extension, in its order; the same again if it is loaded
// already. Throws Error kNotFound if the file is missing, kFailedPrecondition
// if it is no extension or was built for another version of the interface,
// kAlreadyExists if one of its ops has a name that is taken. Thread-safe.
std::vector<const CustomOp*> LoadExtension(const std::string& path);

// The same for a table that is at hand. `name` is that of the extension.
std::vector<const CustomOp*> RegisterExtension(const ProaExtension& extension,
                                               const std::string& name);

// Names of the extensions that are loaded.
std::vector<std::string> LoadedExtensions();

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_EXTENSION_LOADER_H_
