#include "profiler/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/perfetto.pb.h"
#include "profiler/text.h"
#include "profiler/track_ids.h"

namespace proa::inline v0::profiler {
namespace {

namespace pb = ::proa_profiler_perfetto;

// Values of the format.
constexpr int kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
constexpr int kUnitBytes = 3;
constexpr uint32_t kClockMonotonic = 3;
constexpr uint32_t kSequence = 1;

class Writer {
 public:
  Writer(const Recording& r, Output& output) : r_(r), ids_(r), out_(output) {}

  void Write() {
    Tracks();
    for (const Event& e : r_.events) {
      if (!out_.ok()) return;
      EndSlices(e.start_ns);
      Add(e);
    }
    EndSlices(INT64_MAX);
  }

 private:
  // Tracks have numbers from 1: processes, threads, then what comes on the way.
  uint64_t ProcessTrack(size_t i) const { return 1 + i; }
  uint64_t ThreadTrack(size_t i) const { return 1 + r_.processes.size() + i; }

  void Tracks() {
    for (size_t i = 0; i < r_.processes.size(); ++i) {
      pb::TrackDescriptor* d = Descriptor(ProcessTrack(i));
      d->mutable_process()->set_pid(static_cast<int32_t>(ids_.process[i]));
      d->mutable_process()->set_process_name(ValidUtf8(r_.processes[i].name));
      Flush();
    }
    for (size_t i = 0; i < r_.threads.size(); ++i) {
      const ThreadInfo& t = r_.threads[i];
      pb::TrackDescriptor* d = Descriptor(ThreadTrack(i));
      d->set_parent_uuid(ProcessTrack(t.process));
      pb::ThreadDescriptor* thread = d->mutable_thread();
      thread->set_pid(static_cast<int32_t>(ids_.process_of(t)));
      thread->set_tid(static_cast<int32_t>(ids_.thread[i]));
      thread->set_thread_name(ValidUtf8(TrackName(t)));
      Flush();
    }
    next_track_ = ThreadTrack(r_.threads.size());
    open_.resize(r_.threads.size());
  }

  pb::TrackDescriptor* Descriptor(uint64_t uuid) {
    packet_.Clear();
    pb::TrackDescriptor* d = packet_.mutable_track_descriptor();
    d->set_uuid(uuid);
    return d;
  }

  // A new track below the process of `thread`.
  uint64_t NewTrack(uint32_t thread, std::string_view name, bool counter,
                    bool bytes) {
    const uint64_t uuid = next_track_++;
    pb::TrackDescriptor* d = Descriptor(uuid);
    d->set_parent_uuid(ProcessTrack(r_.threads[thread].process));
    d->set_name(ValidUtf8(name));
    if (counter) d->mutable_counter()->set_unit(bytes ? kUnitBytes : 0);
    Flush();
    return uuid;
  }

  pb::TrackEvent* Begin(int type, int64_t ns, uint64_t track) {
    packet_.Clear();
    packet_.set_timestamp(static_cast<uint64_t>(std::max<int64_t>(ns, 0)));
    packet_.set_timestamp_clock_id(kClockMonotonic);
    packet_.set_trusted_packet_sequence_id(kSequence);
    if (first_) packet_.set_sequence_flags(1);
    first_ = false;
    pb::TrackEvent* event = packet_.mutable_track_event();
    event->set_type(type);
    event->set_track_uuid(track);
    return event;
  }

  void Flush() {
    bytes_.clear();
    packet_.AppendToString(&bytes_);
    std::string head = "\x0A";  // field 1 of Trace
    size_t size = bytes_.size();
    for (; size >= 0x80; size >>= 7) {
      head.push_back(static_cast<char>(size | 0x80));
    }
    head.push_back(static_cast<char>(size));
    out_.Append(head);
    out_.Append(bytes_);
  }

  void Annotate(pb::TrackEvent* event, const char* name,
                std::string_view text) {
    pb::DebugAnnotation* a = event->add_debug_annotations();
    a->set_name(name);
    a->set_string_value(ValidUtf8(text));
  }
  void Annotate(pb::TrackEvent* event, const char* name, double value) {
    pb::DebugAnnotation* a = event->add_debug_annotations();
    a->set_name(name);
    a->set_double_value(value);
  }

  void Describe(const Event& e, pb::TrackEvent* event) {
    event->set_name(ValidUtf8(e.name));
    event->add_categories(ValidUtf8(e.category));
    if (e.path != nullptr) Annotate(event, "path", e.path);
    if (e.details == nullptr) return;
    if (e.details->shapes != nullptr)
      Annotate(event, "shapes", e.details->shapes);
    if (e.details->source != nullptr)
      Annotate(event, "source", e.details->source);
    if (e.details->flops > 0) Annotate(event, "flops", e.details->flops);
    if (e.details->bytes > 0) Annotate(event, "bytes", e.details->bytes);
  }

  void Add(const Event& e) {
    switch (e.kind) {
      case EventKind::kRange: {
        std::vector<int64_t>& ends = open_[e.thread];
        const int64_t end =
            ends.empty() ? e.end_ns : std::min(e.end_ns, ends.back());
        Describe(e, Begin(kSliceBegin, e.start_ns, ThreadTrack(e.thread)));
        Flush();
        ends.push_back(end);
        ending_.push({end, e.thread});
        return;
      }
      case EventKind::kAsync: {
        const uint64_t track = NewTrack(e.thread, e.name, false, false);
        Describe(e, Begin(kSliceBegin, e.start_ns, track));
        Flush();
        Begin(kSliceEnd, e.end_ns, track);
        return Flush();
      }
      case EventKind::kInstant:
      case EventKind::kFlowBegin:
      case EventKind::kFlowEnd: {
        pb::TrackEvent* event =
            Begin(kInstant, e.start_ns, ThreadTrack(e.thread));
        Describe(e, event);
        if (e.kind == EventKind::kFlowBegin) event->add_flow_ids(e.correlation);
        if (e.kind == EventKind::kFlowEnd) {
          event->add_terminating_flow_ids(e.correlation);
        }
        return Flush();
      }
      case EventKind::kCounter:
        return AddCounter(e, e.name, e.value, false);
      case EventKind::kAllocate:
      case EventKind::kFree:
        return AddCounter(e, std::string("memory of ") + e.category, e.total,
                          true);
    }
  }

  void AddCounter(const Event& e, const std::string& name, double value,
                  bool bytes) {
    uint64_t& track = counters_[{r_.threads[e.thread].process, name}];
    if (track == 0) track = NewTrack(e.thread, name, true, bytes);
    Begin(kCounter, e.start_ns, track)->set_double_counter_value(value);
    Flush();
  }

  // Ends the slices that are over at `ns`, in the order of their ends.
  void EndSlices(int64_t ns) {
    while (!ending_.empty() && ending_.top().end <= ns) {
      const Ending top = ending_.top();
      ending_.pop();
      open_[top.thread].pop_back();
      Begin(kSliceEnd, top.end, ThreadTrack(top.thread));
      Flush();
    }
  }

  struct Ending {
    int64_t end;
    uint32_t thread;
    bool operator<(const Ending& other) const { return end > other.end; }
  };

  const Recording& r_;
  const TrackIds ids_;
  Output& out_;
  pb::TracePacket packet_;
  std::string bytes_;
  bool first_ = true;
  uint64_t next_track_ = 0;
  // Ends of the open slices of each thread; an inner one ends no later.
  std::vector<std::vector<int64_t>> open_;
  std::priority_queue<Ending> ending_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> counters_;
};

}  // namespace

absl::Status WritePerfettoTrace(const Recording& recording, Output& output) {
  Writer(recording, output).Write();
  return absl::OkStatus();
}

}  // namespace proa::inline v0::profiler
