// The thread count that oneDNN compiles primitives for: part of every cache
// key, since a primitive divides its work when it is compiled. And a way to
// keep it to one thread, for sums that must not depend on how many there are.
#ifndef PROA_OPS_ONEDNN_THREADS_H_
#define PROA_OPS_ONEDNN_THREADS_H_

namespace proa::inline v0::onednn {

// What oneDNN asks for on this thread; 1 in a child of fork.
int NumThreads();

// Within the scope oneDNN compiles and runs on the calling thread only. oneDNN
// divides some sums (weight gradients of convolution over the batch) by its
// thread count, so that bits depend on it: who divides the work itself, in a
// way that depends on sizes only, runs each part in such a scope.
//
//   parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
//     const SerialScope serial;
//     for (int64_t i = begin; i < end; ++i) primitive->Execute(...);
//   });
class SerialScope {
 public:
  SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;
  ~SerialScope();

 private:
  int saved_;
};

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_THREADS_H_
