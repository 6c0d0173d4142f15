// BuildScope: stands in oneDNN while it compiles.
//
// A child of fork() has what oneDNN keeps as it was, without the threads that
// were about to change it, and would wait for them for ever. So no process
// forks while a thread is in such a scope. oneDNN compiles when a primitive is
// made and, of its matrix products, in statics of its own when one runs for the
// first time.
#ifndef PROA_OPS_ONEDNN_BUILD_SCOPE_H_
#define PROA_OPS_ONEDNN_BUILD_SCOPE_H_

#include <shared_mutex>

namespace proa::inline v0::onednn {
namespace internal {

// Held, shared, by those who compile, and exclusively by who forks.
std::shared_mutex& Builds();

}  // namespace internal

// Several threads may be in one at a time.
class BuildScope {
 public:
  BuildScope() : building_(internal::Builds()) {}

 private:
  std::shared_lock<std::shared_mutex> building_;
};

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_BUILD_SCOPE_H_
