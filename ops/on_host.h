// OnHost: while one lives, ops of this thread that take no place create on the
// CPU.
//
// A front door that has no kernel for a device calls the op again on the host;
// ops without tensor arguments would otherwise choose that device once more.
#ifndef PROA_OPS_ON_HOST_H_
#define PROA_OPS_ON_HOST_H_

namespace proa::inline v0::ops {

class OnHost {
 public:
  OnHost() { ++depth; }
  ~OnHost() { --depth; }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
  static bool Active() { return depth > 0; }

 private:
  inline static thread_local constinit int depth = 0;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_ON_HOST_H_
