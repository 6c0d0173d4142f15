// Profile files, the reading half. Every byte may be wrong.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "google/protobuf/stubs/logging.h"
#include "profiler/crc32.h"
#include "profiler/profile.pb.h"
#include "profiler/profile_chunks.h"
#include "profiler/profile_file.h"
#include "profiler/system_error.h"

namespace proa::inline v0::profiler {
namespace {

namespace pb = ::proa_profiler_file;

// Owns what the events of a loaded recording point to; deques do not move.
struct Pool {
  std::deque<std::string> strings;
  std::deque<Details> details;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name)
      : bytes_(bytes), name_(name), pool_(std::make_shared<Pool>()) {}

  absl::StatusOr<Recording> Read() {
    if (absl::Status s = Magic(); !s.ok()) return s;
    bool ended = false;
    while (!ended) {
      ChunkKind kind{};
      std::string_view payload;
      if (absl::Status s = NextChunk(&kind, &payload); !s.ok()) return s;
      absl::Status s;
      if (kind == ChunkKind::kHeader && chunk_ == 1) {
        s = Header(payload);
      } else if (kind == ChunkKind::kEvents && chunk_ > 1) {
        s = Events(payload);
      } else if (kind == ChunkKind::kEnd && chunk_ > 1) {
        s = End(payload);
        ended = true;
      } else {
        s = Broken("is of an unknown kind, or in the wrong place");
      }
      if (!s.ok()) return s;
    }
    if (!bytes_.empty()) {
      return absl::DataLossError(name_ + ": goes on behind its end");
    }
    std::stable_sort(r_.events.begin(), r_.events.end(), Earlier);
    r_.strings = pool_;
    return std::move(r_);
  }

 private:
  absl::Status Broken(const std::string& what) const {
    return absl::DataLossError(name_ + ": chunk " + std::to_string(chunk_) +
                               " " + what);
  }

  static uint32_t WordAt(std::string_view bytes, size_t offset) {
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
      word |= uint32_t{static_cast<unsigned char>(bytes[offset + i])} << 8 * i;
    }
    return word;
  }

  absl::Status Magic() {
    if (bytes_.size() < kProfileMagic.size() + 4 ||
        !bytes_.starts_with(kProfileMagic)) {
      return absl::InvalidArgumentError(name_ + " is no profile");
    }
    const uint32_t format = WordAt(bytes_, kProfileMagic.size());
    if (format != kProfileFormat) {
      return absl::InvalidArgumentError(
          name_ + ": has format " + std::to_string(format) +
          "; this build reads " + std::to_string(kProfileFormat));
    }
    bytes_.remove_prefix(kProfileMagic.size() + 4);
    return absl::OkStatus();
  }

  absl::Status NextChunk(ChunkKind* kind, std::string_view* payload) {
    ++chunk_;
    constexpr size_t kHead = 12;
    if (bytes_.size() < kHead || WordAt(bytes_, 4) > bytes_.size() - kHead) {
      return absl::DataLossError(name_ + ": ends too early, in chunk " +
                                 std::to_string(chunk_));
    }
    *kind = static_cast<ChunkKind>(WordAt(bytes_, 0));
    *payload = bytes_.substr(kHead, WordAt(bytes_, 4));
    if (Crc32(*payload) != WordAt(bytes_, 8)) {
      return absl::DataLossError(name_ + ": the checksum of chunk " +
                                 std::to_string(chunk_) +
                                 " does not match; the file was altered");
    }
    bytes_.remove_prefix(kHead + payload->size());
    return absl::OkStatus();
  }

  template <typename Message>
  absl::Status Parse(std::string_view payload, Message* message) const {
    // What is wrong is the error's matter; protobuf would print it as well.
    google::protobuf::LogSilencer quiet;
    // At most 4 GiB by the format; protobuf takes 2.
    if (payload.size() > INT32_MAX ||
        !message->ParseFromArray(payload.data(),
                                 static_cast<int>(payload.size()))) {
      return Broken("cannot be decoded");
    }
    return absl::OkStatus();
  }

  absl::Status Header(std::string_view payload) {
    pb::Header h;
    if (absl::Status s = Parse(payload, &h); !s.ok()) return s;
    r_.start_ns = h.start_ns();
    r_.stop_ns = h.stop_ns();
    r_.dropped = h.dropped();
    r_.clock_steps = h.clock_steps();
    r_.roof = {h.gflops_per_s(), h.gbytes_per_s()};
    for (const pb::Process& p : h.processes()) {
      r_.processes.push_back(
          {p.system_id(), p.name(), p.host(), p.wall_offset_ns(), p.boot()});
    }
    for (const pb::Thread& t : h.threads()) {
      if (t.process() >= r_.processes.size()) {
        return Broken("names a process that is not there");
      }
      r_.threads.push_back({t.system_id(), t.name(), t.process(), t.device()});
    }
    return absl::OkStatus();
  }

  // False for an index of a string that is not there.
  bool StringAt(uint32_t index, const char** s) const {
    *s = nullptr;
    if (index > pool_->strings.size()) return false;
    if (index > 0) *s = pool_->strings[index - 1].c_str();
    return true;
  }

  absl::Status Events(std::string_view payload) {
    pb::Events chunk;
    if (absl::Status s = Parse(payload, &chunk); !s.ok()) return s;
    for (std::string& s : *chunk.mutable_strings()) {
      pool_->strings.push_back(std::move(s));
    }
    for (const pb::DetailsEntry& entry : chunk.details()) {
      Details d{.flops = entry.flops(), .bytes = entry.bytes()};
      if (!StringAt(entry.shapes(), &d.shapes) ||
          !StringAt(entry.source(), &d.source)) {
        return Broken("names a string that is not there");
      }
      pool_->details.push_back(d);
    }
    const int n = static_cast<int>(chunk.kind().size());
    for (const int size :
         {chunk.name_size(), chunk.category_size(), chunk.start_ns_size(),
          chunk.duration_ns_size(), chunk.thread_size(), chunk.path_size(),
          chunk.details_index_size(), chunk.correlation_size()}) {
      if (size != n) return Broken("has columns of different lengths");
    }
    return Rows(chunk, n);
  }

  absl::Status Rows(const pb::Events& chunk, int n) {
    int values = 0, totals = 0;
    uint64_t start = 0;  // wraps around instead of overflowing
    for (int i = 0; i < n; ++i) {
      const auto kind = static_cast<unsigned char>(chunk.kind()[i]);
      if (kind >= kNumEventKinds) return Broken("has an unknown kind of event");
      Event e;
      e.kind = static_cast<EventKind>(kind);
      start += static_cast<uint64_t>(chunk.start_ns(i));
      e.start_ns = static_cast<int64_t>(start);
      if (__builtin_add_overflow(e.start_ns, chunk.duration_ns(i), &e.end_ns)) {
        return Broken("has a time out of range");
      }
      if (!StringAt(chunk.name(i), &e.name) ||
          !StringAt(chunk.category(i), &e.category) ||
          !StringAt(chunk.path(i), &e.path) || e.name == nullptr ||
          e.category == nullptr) {
        return Broken("names a string that is not there");
      }
      if (chunk.thread(i) >= r_.threads.size()) {
        return Broken("names a thread that is not there");
      }
      e.thread = chunk.thread(i);
      if (chunk.details_index(i) > pool_->details.size()) {
        return Broken("names details that are not there");
      }
      if (chunk.details_index(i) > 0) {
        e.details = &pool_->details[chunk.details_index(i) - 1];
      }
      e.correlation = chunk.correlation(i);
      if ((HasValue(e.kind) && values >= chunk.value_size()) ||
          (HasTotal(e.kind) && totals >= chunk.total_size())) {
        return Broken("lacks values");
      }
      if (HasValue(e.kind)) e.value = chunk.value(values++);
      if (HasTotal(e.kind)) e.total = chunk.total(totals++);
      r_.events.push_back(e);
    }
    return absl::OkStatus();
  }

  absl::Status End(std::string_view payload) {
    pb::End end;
    if (absl::Status s = Parse(payload, &end); !s.ok()) return s;
    if (end.events() != r_.events.size()) {
      return absl::DataLossError(
          name_ + ": should hold " + std::to_string(end.events()) +
          " events, not " + std::to_string(r_.events.size()));
    }
    return absl::OkStatus();
  }

  std::string_view bytes_;  // that are still to be read
  const std::string& name_;
  std::shared_ptr<Pool> pool_;
  Recording r_;
  int chunk_ = 0;
};

}  // namespace

absl::StatusOr<Recording> ParseProfile(std::string_view bytes,
                                       const std::string& name) {
  return Reader(bytes, name).Read();
}

absl::StatusOr<Recording> LoadProfile(const std::string& path) {
  struct stat there;
  if (stat(path.c_str(), &there) != 0) {
    return SystemError(errno, path, "cannot be opened");
  }
  if (!S_ISREG(there.st_mode)) {
    return absl::InvalidArgumentError(path + " is no file");
  }
  std::ifstream stream(path, std::ios::binary);
  std::string bytes;
  bytes.resize(static_cast<size_t>(there.st_size));
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    return absl::DataLossError(path + ": cannot be read");
  }
  return ParseProfile(bytes, path);
}

}  // namespace proa::inline v0::profiler
