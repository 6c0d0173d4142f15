// The thread count that oneDNN compiles primitives for: part of every cache key,
// since a primitive divides its work when it is compiled.
#ifndef PROA_OPS_ONEDNN_THREADS_H_
#define PROA_OPS_ONEDNN_THREADS_H_

namespace proa::inline v0::onednn {

int NumThreads();

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_THREADS_H_
