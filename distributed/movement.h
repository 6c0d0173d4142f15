// How the bytes of a collective go between ranks, over links.
//
// A collective begins with a header from everyone to everyone: so a rank that
// calls something else is found out before any data is taken for what it is
// not, and a rank that never comes is known by name. Then follow the data,
// without further agreement.
#ifndef PROA_DISTRIBUTED_MOVEMENT_H_
#define PROA_DISTRIBUTED_MOVEMENT_H_

#include <functional>
#include <span>
#include <vector>

#include "distributed/flight_recorder.h"
#include "distributed/fold.h"
#include "distributed/links.h"

namespace proa::inline v0::distributed {

struct Bytes {
  const char* data = nullptr;
  size_t size = 0;
};
struct MutableBytes {
  char* data = nullptr;
  size_t size = 0;
};

// Called while nothing moves; throws when waiting has no sense any more.
using Watch = std::function<void()>;

// Sends `own` to all and reads theirs. came[i] is set as soon as that of rank i
// is there. `bytes`: what goes to each rank.
void ExchangeHeaders(Links& links, const CallHeader& own,
                     std::span<const int64_t> bytes,
                     std::vector<CallHeader>* headers, std::vector<bool>* came,
                     const Watch& watch);

// to[i] to rank i, from[i] from rank i, all at once; own parts are copied. A
// part that is sent and one that is received must not overlap.
void ExchangeBytes(Links& links, std::span<const Bytes> to,
                   std::span<const MutableBytes> from, const Watch& watch);

// Rank i combines elements segments[i] of all ranks' `x`, into `own`; then they
// go to where `to` says, at their place in `result`. `result` may be `x`, and
// `own` its place there.
struct Reduction {
  enum class To : uint8_t { kOwner, kRoot, kAll };
  ReduceOp reduce = ReduceOp::kSum;
  DType dtype = DType::kFloat32;
  To to = To::kAll;
  int root = 0;
  struct Segment {
    size_t begin = 0;
    size_t size = 0;
  };
  std::vector<Segment> segments;
};
void Reduce(Links& links, const Reduction& r, const char* x, char* own,
            char* result, const Watch& watch);

// Returns when what was written no longer needs us.
void Drain(Links& links, const Watch& watch);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_MOVEMENT_H_
