// What a collective is, and the seam through which its kernels reach whoever
// carries tensors between processes: the room distributed/ installs itself,
// this room knows no process but its own.
//
// Without an installed carrier, group 0 is this process alone, where every
// collective is a copy.
#ifndef PROA_OPS_COLLECTIVE_COLLECTIVE_H_
#define PROA_OPS_COLLECTIVE_COLLECTIVE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0 {

enum class Collective : uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kGather,
  kScatter,
  kReduceScatter,
  kAllToAll,
  kSend,
  kReceive,
  kBarrier,
};
inline constexpr int kNumCollectives = 11;
const char* Name(Collective c);  // "all_reduce"

enum class ReduceOp : uint8_t { kSum, kProd, kMin, kMax, kAvg };
const char* Name(ReduceOp r);  // "sum"
// Throws Error kInvalidArgument for what is none.
ReduceOp ParseReduceOp(const char* op, std::string_view text);

// One call, of one rank. Tensors are contiguous and on the CPU; `in` and `out`
// may be the same. Elements of dim 0 go to ranks in order of their numbers.
struct CollectiveCall {
  Collective kind = Collective::kBarrier;
  ReduceOp reduce = ReduceOp::kSum;
  int64_t group = 0;
  int64_t peer = 0;  // the root, receiver or sender: a rank of the group
  Tensor in;
  Tensor out;
  // Rows that each rank gets and gives (all_to_all, uneven all_gather: of `out`
  // only); empty: equal parts.
  std::vector<int64_t> in_splits;
  std::vector<int64_t> out_splits;
  bool answered = false;  // a message whose gradient comes back
};

// A collective that goes on while its caller does other things. Until Wait has
// returned, nobody reads `out` of its call, or changes `in`.
class LateCollective {
 public:
  virtual ~LateCollective() = default;
  virtual void Wait() = 0;  // throws Error
};

class CollectiveCarrier {
 public:
  virtual ~CollectiveCarrier() = default;
  // Returns when this rank's part is done. Throws Error.
  virtual void Run(const CollectiveCall& call) = 0;
  // Begins it, behind those of the group that have begun; null: it is done.
  virtual std::shared_ptr<LateCollective> Begin(const CollectiveCall& call) {
    Run(call);
    return nullptr;
  }
};
// Call at start-up; null takes it away. Not synchronized.
void InstallCollectiveCarrier(CollectiveCarrier* carrier);

// What every collective op on tensors in a place changes, so that programs keep
// their order. Thread-safe.
const Tensor& CollectiveTurn(const Place& place = Place());

// While it stands, the next RunCollective of this thread only begins; who made
// the scope waits. For callers of ops that do nothing behind their collective.
class CollectiveLater {
 public:
  CollectiveLater();
  ~CollectiveLater();
  CollectiveLater(const CollectiveLater&) = delete;
  CollectiveLater& operator=(const CollectiveLater&) = delete;
  // What has begun; null if nothing has, or it is done.
  std::shared_ptr<LateCollective> Take() { return std::move(begun_); }

 private:
  friend void RunCollective(const CollectiveCall& call);
  std::shared_ptr<LateCollective> begun_;
  bool used_ = false;
  CollectiveLater* const around_;
};

// By the carrier, or as a group of one.
void RunCollective(const CollectiveCall& call);
// What a collective of one process gives; throws Error for send and receive.
void RunAlone(const CollectiveCall& call);

}  // namespace proa::inline v0

#endif  // PROA_OPS_COLLECTIVE_COLLECTIVE_H_
