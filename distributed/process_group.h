// ProcessGroup: ranks that take part in collectives together.
//
//   std::shared_ptr<Work> w = group.Start({.kind = Collective::kAllReduce,
//                                          .in = x, .out = x}, /*wait=*/false);
//   ...
//   w->Wait();
//
// The collectives of a group run one after the other, in the order in which
// they are started, which is the same on all ranks; sends and receives run
// beside them, in order for each peer and direction. What goes wrong in one
// (ranks that disagree, a rank that never comes or dies, Ctrl-C) is thrown on
// every rank that takes part, and ends the group.
#ifndef PROA_DISTRIBUTED_PROCESS_GROUP_H_
#define PROA_DISTRIBUTED_PROCESS_GROUP_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/backend.h"
#include "distributed/device_turn.h"
#include "distributed/fabric.h"
#include "distributed/flight_recorder.h"
#include "distributed/links.h"
#include "distributed/work.h"
#include "ops/collective/collective.h"

namespace proa::inline v0::distributed {

struct GroupOptions {
  int64_t id = 0;
  std::vector<int> members;  // ranks of the job, ascending
  Limit limit{1800000};      // of each collective
  bool shared_memory = true;
  std::string backend = kDefaultBackend;
};

struct Patience;  // process_group_parts.h

class ProcessGroup {
 public:
  // Called by all members, and by them only. Throws Error if one of them does
  // not come.
  ProcessGroup(std::shared_ptr<Fabric> fabric, GroupOptions options);
  ~ProcessGroup();

  int64_t id() const { return options_.id; }
  int size() const { return static_cast<int>(options_.members.size()); }
  int rank() const { return rank_; }  // in the group
  const std::vector<int>& members() const { return options_.members; }
  const std::string& backend() const { return options_.backend; }
  // What carries the bytes of its collectives.
  const char* transport() const { return transport_; }
  const FlightRecorder& recorder() const { return recorder_; }

  // Tensors of any strides, in one place. On a device that the backend carries
  // the work goes to a stream of its own (work.h); other devices go by the
  // host. Throws Error at once for arguments that can be seen to be wrong; the
  // group goes on then.
  std::shared_ptr<Work> Start(const CollectiveCall& call, bool wait);
  // Waits until what was sent and not waited for has gone, not beyond `end`.
  void Flush(Clock::time_point end);
  // What runs ends soon, with an error.
  void Abort();

 private:
  struct Attempt;
  struct Mailbox;
  std::shared_ptr<Work> StartExchange(const CollectiveCall& call, bool wait);
  std::shared_ptr<Work> StartMessage(const CollectiveCall& call, bool wait);
  void Check(const CollectiveCall& call) const;
  using Turn = std::shared_ptr<DeviceTurn>;  // null: on the host
  // Moves, or enqueues.
  void Run(const CollectiveCall& call, const CallHeader& header, bool here,
           const Turn& turn);
  std::shared_ptr<Work> InOrder(std::shared_ptr<Work> work, const Turn& turn,
                                bool wait) const;
  // The turn of a call that the backend carries, null for others.
  Turn TurnOf(const CollectiveCall& call) const;
  void Follow(const Turn& turn, const CallHeader& header, int peer,
              std::function<void(std::exception_ptr)> ended);
  void Break(std::exception_ptr error);
  void AgreeOnBackend();
  void Open(Mailbox& box, const Patience& p);
  static bool IsBrief(Mailbox& box, size_t bytes);
  void Send(Mailbox& box, const CollectiveCall& call, const CallHeader& header,
            bool here, const Turn& turn);
  void Receive(Mailbox& box, const CollectiveCall& call,
               const CallHeader& header, bool here, const Turn& turn);
  std::string NameOf(int rank) const;

  const std::shared_ptr<Fabric> fabric_;
  const GroupOptions options_;
  int rank_ = -1;
  const char* transport_ = "alone";
  std::unique_ptr<Links> links_;                   // null for a group of one
  std::unique_ptr<Backend> backend_;               // the same; of the host
  std::unique_ptr<DeviceBackend> device_backend_;  // null: the host has all
  FlightRecorder recorder_;
  std::mutex mu_;
  uint64_t sequence_ = 0;  // guarded by mu_
  std::string broken_;     // guarded by mu_: why it ended
  std::atomic<bool> aborted_{false};
  DeviceWatch watch_;  // lanes, which give it work, end before it
  std::map<int, std::unique_ptr<Mailbox>> mailboxes_;  // guarded by mu_
  Lane lane_;
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_PROCESS_GROUP_H_
