// Backend: what moves the data of a group's collectives, once all ranks have
// entered and agree on the call.
//
// A backend is one file, which registers itself where it is linked in:
//
//   const bool registered = RegisterBackend("mine", &NewMine);
//
// What is the same for all of them stays with the group: order, headers,
// limits, errors that name a rank, the flight recorder, sends and receives.
#ifndef PROA_DISTRIBUTED_BACKEND_H_
#define PROA_DISTRIBUTED_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "distributed/device_turn.h"
#include "distributed/fabric.h"
#include "distributed/links.h"
#include "distributed/movement.h"
#include "ops/collective/collective.h"

namespace proa::inline v0::distributed {

// The one that is there without being asked for.
inline constexpr char kDefaultBackend[] = "proa";

// A group of at least two ranks, all of which make their backend at the same
// time. What is referred to outlives the backend.
struct BackendSetup {
  Fabric& fabric;
  Links& links;
  const std::vector<int>& members;
  int64_t group = 0;
  int rank = 0;  // in the group
  Limit limit{0};
};

class Backend {
 public:
  virtual ~Backend() = default;

  // What carries the bytes: "shared memory".
  virtual const char* transport() const = 0;
  // This rank's part of an exchange, no send or receive or barrier; tensors are
  // contiguous. to[i] bytes go to rank i of the group and from[i] come from it
  // (all-reduce and reduce: the size of one operand). `watch` is called while
  // nothing moves, on this thread, and throws when waiting has no sense any
  // more; nothing is moved by this backend after that. Throws Error.
  virtual void Move(const CollectiveCall& call, const std::vector<int64_t>& to,
                    const std::vector<int64_t>& from, const Watch& watch) = 0;
};

// A backend of a device. What lies elsewhere goes by the default backend, and
// what it cannot combine through the host.
class DeviceBackend : public Backend {
 public:
  virtual bool Carries(const Place& place) const = 0;
  virtual bool Combines(ReduceOp reduce, DType dtype) const = 0;
  // As Move, also for sends and receives, by turn->Enqueue: on return the work
  // is on a stream. `watch` is called while the host waits.
  virtual void MoveOnDevice(const CollectiveCall& call,
                            const std::vector<int64_t>& to,
                            const std::vector<int64_t>& from, DeviceTurn* turn,
                            const Watch& watch) = 0;
  // What is on streams ends soon, with whatever result; nothing is moved
  // afterwards. Called on any thread.
  virtual void Abort() = 0;
  void Move(const CollectiveCall& call, const std::vector<int64_t>& to,
            const std::vector<int64_t>& from, const Watch& watch) final;
};

using BackendFactory = std::unique_ptr<Backend> (*)(const BackendSetup&);

// The name is in lower case, of at most 31 characters. Throws Error for one
// that is taken.
bool RegisterBackend(const std::string& name, BackendFactory factory);
// In place of one that this build leaves out: why, for who asks for it.
bool RegisterAbsentBackend(const std::string& name, const std::string& why);
std::vector<std::string> BackendNames();  // ascending
// "" for a name that nobody has registered as absent.
std::string WhyAbsent(const std::string& name);
// Throws Error kInvalidArgument, with the names that there are.
BackendFactory FindBackend(const std::string& name);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_BACKEND_H_
