#include "distributed/flight_recorder.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string CallHeader::Where() const {
  const std::string text(line, strnlen(line, sizeof line));
  return text.empty() ? "" : absl::StrCat("(", text, ")");
}

std::string CallHeader::Text() const {
  std::string text = Name(kind);
  const bool folds = kind == Collective::kAllReduce ||
                     kind == Collective::kReduce ||
                     kind == Collective::kReduceScatter;
  if (folds) absl::StrAppend(&text, " ", Name(reduce));
  if (kind != Collective::kBarrier) {
    absl::StrAppend(&text, " of [");
    for (int i = 0; i < std::min<int>(rank, kMaxDims); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ", ", dims[i]);
    }
    absl::StrAppend(&text, rank > kMaxDims ? ", ...] " : "] ",
                    error_internal::Piece(Name(dtype)),
                    on_device != 0 ? " on a device" : "");
  }
  if (kind == Collective::kReduce || kind == Collective::kBroadcast ||
      kind == Collective::kGather || kind == Collective::kScatter) {
    absl::StrAppend(&text, ", root ", peer);
  }
  const std::string where = Where();
  if (!where.empty()) absl::StrAppend(&text, " ", where);
  return text;
}

bool CallHeader::SameShape(const CallHeader& other) const {
  if (kind == Collective::kBarrier) return true;
  const bool own_rows = uneven != 0 || other.uneven != 0;
  if (rank != other.rank) {
    const bool vectors =
        rank + other.rank == 1 && (dims[0] | other.dims[0]) == 1;
    // Lists of tensors of several shapes go as one vector.
    return vectors || (own_rows && (rank == 1 || other.rank == 1));
  }
  const int shown = std::min<int>(rank, kMaxDims);
  for (int i = own_rows ? 1 : 0; i < shown; ++i) {
    if (dims[i] != other.dims[i]) return false;
  }
  return more_dims == other.more_dims;
}

CallHeader HeaderOf(const CollectiveCall& call, uint64_t sequence,
                    const char* line) {
  CallHeader h;
  h.kind = call.kind;
  h.reduce = call.reduce;
  h.sequence = sequence;
  h.peer = call.peer;
  h.uneven = !call.in_splits.empty() || !call.out_splits.empty();
  h.answered = call.answered;
  // What all ranks have: the root of a scatter alone has the parts.
  const bool of_out = call.kind == Collective::kScatter ||
                      call.kind == Collective::kReduceScatter;
  const Tensor& t =
      call.in.defined() && !(of_out && call.out.defined()) ? call.in : call.out;
  if (t.defined()) {
    h.dtype = t.dtype();
    h.rank = static_cast<int8_t>(t.rank());
    for (int i = 0; i < std::min(t.rank(), CallHeader::kMaxDims); ++i) {
      h.dims[i] = t.size(i);
    }
    for (int i = CallHeader::kMaxDims; i < t.rank(); ++i) {
      h.more_dims = h.more_dims * 1000003u + static_cast<uint32_t>(t.size(i));
    }
  }
  if (line != nullptr) {
    // The end of a long path says more than its beginning.
    const size_t size = std::strlen(line);
    const size_t kept = std::min(size, sizeof h.line - 1);
    std::memcpy(h.line, line + size - kept, kept);
  }
  return h;
}

void FlightRecorder::Begin(const CallHeader& call) {
  FlightEntry& e = At(call.sequence);
  e.call = call;
  e.state = FlightEntry::State::kRuns;
  e.began_ns = NowNs();
  e.ended_ns = 0;
  last_.store(call.sequence, std::memory_order_release);
}

void FlightRecorder::End(uint64_t sequence, bool failed) {
  FlightEntry& e = At(sequence);
  if (e.call.sequence != sequence) return;
  e.ended_ns = NowNs();
  e.state = failed ? FlightEntry::State::kFailed : FlightEntry::State::kDone;
}

std::vector<FlightEntry> FlightRecorder::Entries() const {
  const uint64_t last = last_.load(std::memory_order_acquire);
  std::vector<FlightEntry> out;
  const uint64_t first = last < kEntries ? 1 : last - kEntries + 1;
  for (uint64_t i = first; i <= last; ++i) out.push_back(At(i));
  return out;
}

}  // namespace proa::inline v0::distributed
