// What process_group.cc and messages.cc share. Internal to this room.
#ifndef PROA_DISTRIBUTED_PROCESS_GROUP_PARTS_H_
#define PROA_DISTRIBUTED_PROCESS_GROUP_PARTS_H_

#include <memory>
#include <string>

#include "distributed/device_turn.h"
#include "distributed/process_group.h"
#include "distributed/socket.h"
#include "distributed/work.h"

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

// Messages to and from one peer: a connection, which the first message makes,
// and a lane for each direction.
struct ProcessGroup::Mailbox {
  explicit Mailbox(int peer_rank) : peer(peer_rank) {}

  const int peer;  // in the group
  std::mutex mu;
  Socket socket;  // guarded by mu while it is made
  uint64_t sent = 0;
  uint64_t received = 0;
  std::string broken;  // guarded by mu
  Lane out;
  Lane in;
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_PROCESS_GROUP_PARTS_H_
