// NcclChannel: some ranks with a communicator of NCCL and a stream for it.
//
// The communicator does not block: what takes NCCL time is waited for here,
// with `watch` between, so that a rank that never comes does not stop this one.
#ifndef PROA_DISTRIBUTED_NCCL_CHANNEL_H_
#define PROA_DISTRIBUTED_NCCL_CHANNEL_H_

#include <functional>
#include <mutex>
#include <string>

#include "distributed/movement.h"
#include "distributed/store.h"
#include "nccl.h"
#include "tensor/device.h"
#include "tensor/place.h"

namespace proa::inline v0::distributed {

// "nccl: what went wrong": Error kUnavailable for what the network or another
// rank did, kInternal for the rest.
void CheckNccl(ncclResult_t result, const char* call);

class NcclChannel {
 public:
  struct Setup {
    Store& store;
    std::string name;  // under which its ranks meet in the store
    Place place;
    int rank = 0;
    int size = 0;
    Limit limit{0};
  };
  // All ranks of it at the same time.
  NcclChannel(const Setup& setup, const Watch& watch);
  ~NcclChannel();
  NcclChannel(const NcclChannel&) = delete;
  NcclChannel& operator=(const NcclChannel&) = delete;

  Place place() const { return place_; }
  StreamHandle stream() const { return stream_; }
  // Calls of NCCL that belong together, as one.
  void Run(const std::function<void(ncclComm_t, cudaStream_t)>& calls,
           const Watch& watch);
  // What is enqueued ends soon; Run throws from then on.
  void Abort();

 private:
  void Settle(const char* call, const Watch& watch);

  const Place place_;
  std::mutex mu_;  // of calls on the communicator
  ncclComm_t comm_ = nullptr;
  bool aborted_ = false;
  StreamHandle stream_ = nullptr;
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_NCCL_CHANNEL_H_
