// Which oneDNN this is, for bug reports.
#ifndef PROA_OPS_ONEDNN_LIBRARY_VERSION_H_
#define PROA_OPS_ONEDNN_LIBRARY_VERSION_H_

#include <string>

namespace proa::inline v0::onednn {

// "2.6.3, OpenMP, avx512_core_vnni": its version, its threads, and the best
// instruction set that it uses on this machine.
std::string LibraryVersion();

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_LIBRARY_VERSION_H_
