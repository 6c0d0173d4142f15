// Statuses of what reads and writes files, as Python exceptions: OSError (or
// its class for that errno) with errno and file name where the system refused,
// else as tensor/error.h says, but ValueError for files that are damaged.
#ifndef PROA_PYTHON_CORE_FILE_STATUS_H_
#define PROA_PYTHON_CORE_FILE_STATUS_H_

#include <string>

#include "absl/status/status.h"

namespace proa::inline v0::python {

// Throws unless OK.
void CheckFileStatus(const absl::Status& status);

// Throws ValueError for what the system would cut off.
void CheckPath(const std::string& path);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_FILE_STATUS_H_
