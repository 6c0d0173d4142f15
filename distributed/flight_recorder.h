// The flight recorder: what the last collectives of a rank were, always on. A
// ring of fixed size for each group, of which an entry costs some stores; for
// the words of errors, and for who looks at a job that hangs.
#ifndef PROA_DISTRIBUTED_FLIGHT_RECORDER_H_
#define PROA_DISTRIBUTED_FLIGHT_RECORDER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/collective/collective.h"

namespace proa::inline v0::distributed {

// A call as other ranks compare it with theirs: it is sent before the data, so
// it has a fixed layout.
struct CallHeader {
  static constexpr int kMaxDims = 6;
  static constexpr uint32_t kMagic = 0x50434843;

  uint32_t magic = kMagic;
  Collective kind = Collective::kBarrier;
  ReduceOp reduce = ReduceOp::kSum;
  DType dtype = DType::kUInt8;
  int8_t rank = 0;  // of the tensor: its number of dims
  uint64_t sequence = 0;
  int64_t peer = 0;
  int64_t bytes = 0;  // to the rank that reads this
  int64_t dims[kMaxDims] = {};
  uint32_t more_dims = 0;  // a hash of those behind kMaxDims
  char line[41] = {};
  uint8_t uneven = 0;     // dim 0 is each rank's own
  uint8_t answered = 0;   // a message whose gradient comes back
  uint8_t on_device = 0;  // moved by a device backend

  // "all_reduce sum of [2, 3] float32 (train.py:91)"
  std::string Text() const;
  std::string Where() const;  // "(train.py:91)", or "" if nobody knows
  // Whether what the other rank calls fits in shape. A 0-d tensor and one of
  // shape [1] do: some ops have vectors only.
  bool SameShape(const CallHeader& other) const;
};
static_assert(sizeof(CallHeader) % 16 == 0);

CallHeader HeaderOf(const CollectiveCall& call, uint64_t sequence,
                    const char* line);

struct FlightEntry {
  enum class State : uint8_t { kRuns, kDone, kFailed };
  CallHeader call;
  State state = State::kRuns;
  int64_t began_ns = 0;
  int64_t ended_ns = 0;
};

class FlightRecorder {
 public:
  static constexpr size_t kEntries = 1024;

  FlightRecorder() : entries_(new FlightEntry[kEntries]) {}
  void Begin(const CallHeader& call);
  void End(uint64_t sequence, bool failed);
  // The entries that are still there, oldest first. May be called while others
  // write: an entry that is being written may be half old.
  std::vector<FlightEntry> Entries() const;

 private:
  FlightEntry& At(uint64_t sequence) const {
    return entries_[sequence % kEntries];
  }
  std::unique_ptr<FlightEntry[]> entries_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_FLIGHT_RECORDER_H_
