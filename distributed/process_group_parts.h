// What process_group.cc and messages.cc share. Internal to this room.
#ifndef PROA_DISTRIBUTED_PROCESS_GROUP_PARTS_H_
#define PROA_DISTRIBUTED_PROCESS_GROUP_PARTS_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "distributed/device_turn.h"
#include "distributed/fabric.h"
#include "distributed/flight_recorder.h"
#include "distributed/links.h"
#include "distributed/process_group.h"
#include "distributed/work.h"
#include "ops/call_site.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {

// Within a catch block.
std::string TextOfCurrentError();

// What a call works on: tensors in one piece, on the host unless a device
// backend has them (`native`). Put back with PutBack.
CollectiveCall InOnePiece(const CollectiveCall& call, bool native);
void PutBack(const CollectiveCall& flat, const CollectiveCall& call);
// The end of a turn, with what is to be put back.
void Close(const std::shared_ptr<DeviceTurn>& turn, const CollectiveCall& flat,
           const CollectiveCall& call);

// Messages to and from one peer: for each direction links, which the first
// message makes, and a lane.
struct ProcessGroup::Mailbox {
  explicit Mailbox(int peer_rank) : peer(peer_rank) {}

  const int peer;  // in the group
  std::mutex mu;
  std::unique_ptr<Links> to, from;  // guarded by mu while they are made
  uint64_t sent = 0;
  uint64_t received = 0;
  std::string broken;  // guarded by mu
  Lane out;
  Lane in;
};

// How long a message waits, and for what.
struct Patience {
  const Fabric& fabric;
  const int peer;  // of the job
  const std::atomic<bool>& aborted;
  const Clock::time_point end;
  const bool here;
  const CallHeader& own;

  std::string What() const {
    return absl::StrCat(Name(own.kind),
                        own.kind == Collective::kSend ? " to " : " from ",
                        "rank ", peer, " #", own.sequence,
                        own.Where().empty() ? "" : " ", own.Where());
  }
  [[noreturn]] void FailGone() const {
    Fail(absl::StatusCode::kUnavailable, What(), ": rank ", peer,
         fabric.presence(peer) == Presence::kLeft
             ? " has left the job"
             : " died (its connection is gone)");
  }
  void Look() const {
    Check();
    if (fabric.presence(peer) != Presence::kHere) FailGone();
  }
  void Check() const {
    if (here) LookForInterrupt();
    if (aborted.load()) {
      Fail(absl::StatusCode::kCancelled, What(), ": the group was ended");
    }
    if (Clock::now() >= end) {
      Fail(absl::StatusCode::kDeadlineExceeded, What(), ": rank ", peer,
           own.kind == Collective::kSend ? " did not receive it in time"
                                         : " sent nothing in time");
    }
  }
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_PROCESS_GROUP_PARTS_H_
