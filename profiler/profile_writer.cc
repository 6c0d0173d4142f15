// Profile files, the writing half.
#include <cstring>
#include <string>
#include <unordered_map>

#include "profiler/crc32.h"
#include "profiler/profile.pb.h"
#include "profiler/profile_chunks.h"
#include "profiler/profile_file.h"

namespace proa::inline v0::profiler {
namespace {

namespace pb = ::proa_profiler_file;

constexpr size_t kEventsPerChunk = 8192;

void AppendWord(uint32_t word, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(word >> 8 * i));
}

class Writer {
 public:
  explicit Writer(Output& output) : out_(output) {}

  void Write(const Recording& r) {
    std::string magic(kProfileMagic);
    AppendWord(kProfileFormat, &magic);
    out_.Append(magic);
    Chunk(ChunkKind::kHeader, Header(r));
    for (size_t i = 0; i < r.events.size() && out_.ok(); ++i) {
      Add(r.events[i]);
      if (static_cast<size_t>(events_.kind().size()) == kEventsPerChunk)
        Flush();
    }
    if (!events_.kind().empty()) Flush();
    pb::End end;
    end.set_events(r.events.size());
    Chunk(ChunkKind::kEnd, end);
  }

 private:
  static pb::Header Header(const Recording& r) {
    pb::Header h;
    h.set_start_ns(r.start_ns);
    h.set_stop_ns(r.stop_ns);
    h.set_dropped(r.dropped);
    h.set_clock_steps(r.clock_steps);
    h.set_gflops_per_s(r.roof.gflops_per_s);
    h.set_gbytes_per_s(r.roof.gbytes_per_s);
    for (const ProcessInfo& from : r.processes) {
      pb::Process* p = h.add_processes();
      p->set_system_id(from.system_id);
      p->set_name(from.name);
      p->set_host(from.host);
      p->set_wall_offset_ns(from.wall_offset_ns);
      p->set_boot(from.boot);
    }
    for (const ThreadInfo& from : r.threads) {
      pb::Thread* t = h.add_threads();
      t->set_system_id(from.system_id);
      t->set_name(from.name);
      t->set_process(from.process);
      t->set_device(from.device);
    }
    return h;
  }

  template <typename Message>
  void Chunk(ChunkKind kind, const Message& message) {
    const std::string payload = message.SerializeAsString();
    std::string head;
    AppendWord(static_cast<uint32_t>(kind), &head);
    AppendWord(static_cast<uint32_t>(payload.size()), &head);
    AppendWord(Crc32(payload), &head);
    out_.Append(head);
    out_.Append(payload);
  }

  uint32_t StringIndex(const char* s) {
    if (s == nullptr) return 0;
    const auto [at, is_new] =
        strings_.emplace(s, static_cast<uint32_t>(strings_.size() + 1));
    if (is_new) events_.add_strings(s);
    return at->second;
  }

  uint32_t DetailsIndex(const Details* d) {
    if (d == nullptr) return 0;
    const auto [at, is_new] =
        details_.emplace(d, static_cast<uint32_t>(details_.size() + 1));
    if (is_new) {
      pb::DetailsEntry* entry = events_.add_details();
      entry->set_shapes(StringIndex(d->shapes));
      entry->set_source(StringIndex(d->source));
      entry->set_flops(d->flops);
      entry->set_bytes(d->bytes);
    }
    return at->second;
  }

  void Add(const Event& e) {
    events_.mutable_kind()->push_back(static_cast<char>(e.kind));
    events_.add_name(StringIndex(e.name));
    events_.add_category(StringIndex(e.category));
    events_.add_start_ns(e.start_ns - last_start_);
    last_start_ = e.start_ns;
    events_.add_duration_ns(static_cast<uint64_t>(e.end_ns - e.start_ns));
    events_.add_thread(e.thread);
    events_.add_path(StringIndex(e.path));
    events_.add_details_index(DetailsIndex(e.details));
    events_.add_correlation(e.correlation);
    if (HasValue(e.kind)) events_.add_value(e.value);
    if (HasTotal(e.kind)) events_.add_total(e.total);
  }

  void Flush() {
    Chunk(ChunkKind::kEvents, events_);
    events_.Clear();
    last_start_ = 0;
  }

  Output& out_;
  pb::Events events_;
  int64_t last_start_ = 0;
  std::unordered_map<const char*, uint32_t> strings_;
  std::unordered_map<const Details*, uint32_t> details_;
};

}  // namespace

absl::Status WriteProfile(const Recording& recording, Output& output) {
  Writer(output).Write(recording);
  return absl::OkStatus();
}

absl::Status SaveProfile(const Recording& recording, const std::string& path) {
  return WriteFile(path, /*gzip=*/false, [&](Output& output) {
    return WriteProfile(recording, output);
  });
}

}  // namespace proa::inline v0::profiler
