#include "profiler/chrome_trace.h"

#include <string>
#include <string_view>

#include "profiler/text.h"
#include "profiler/track_ids.h"

namespace proa::inline v0::profiler {
namespace {

constexpr int64_t kFrameBytes = 4096;

class Writer {
 public:
  Writer(const Recording& r, const ChromeTraceOptions& options, Output& output)
      : r_(r), ids_(r), most_(options.max_bytes - kFrameBytes), out_(output) {}

  void Write() {
    out_.Append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (size_t i = 0; i < r_.processes.size(); ++i) {
      Name("process_name", ids_.process[i], 0, r_.processes[i].name);
    }
    for (size_t i = 0; i < r_.threads.size(); ++i) {
      Name("thread_name", ids_.process_of(r_.threads[i]), ids_.thread[i],
           TrackName(r_.threads[i]));
    }
    for (const Event& e : r_.events) {
      if (!out_.ok()) return;
      Add(e);
    }
    Tail();
  }

 private:
  void Name(const char* what, int64_t pid, int64_t tid, std::string_view name) {
    line_ = "{\"ph\":\"M\",\"name\":\"";
    line_ += what;
    line_ += "\"";
    Ids(pid, tid);
    line_ += ",\"args\":{\"name\":";
    AppendJson(name, &line_);
    line_ += "}}";
    Flush();
  }

  void Ids(int64_t pid, int64_t tid) {
    line_ += ",\"pid\":" + std::to_string(pid);
    line_ += ",\"tid\":" + std::to_string(tid);
  }

  // Everything up to the arguments.
  void Begin(const Event& e, const char* phase, int64_t ns,
             std::string_view name) {
    line_ = "{\"ph\":\"";
    line_ += phase;
    line_ += "\",\"name\":";
    AppendJson(name, &line_);
    line_ += ",\"cat\":";
    AppendJson(e.category, &line_);
    line_ += ",\"ts\":";
    AppendMicroseconds(ns - r_.start_ns, &line_);
    Ids(ids_.process_of(r_.threads[e.thread]), ids_.thread[e.thread]);
  }

  void Add(const Event& e) {
    switch (e.kind) {
      case EventKind::kRange:
        Begin(e, "X", e.start_ns, e.name);
        line_ += ",\"dur\":";
        AppendMicroseconds(e.end_ns - e.start_ns, &line_);
        Arguments(e);
        break;
      case EventKind::kAsync:
        return AddAsync(e);
      case EventKind::kInstant:
        Begin(e, "i", e.start_ns, e.name);
        line_ += ",\"s\":\"t\"";
        Arguments(e);
        break;
      case EventKind::kCounter:
        Begin(e, "C", e.start_ns, e.name);
        line_ += ",\"args\":{\"value\":";
        AppendJsonNumber(e.value, &line_);
        line_ += "}}";
        break;
      case EventKind::kFlowBegin:
      case EventKind::kFlowEnd:
        Begin(e, e.kind == EventKind::kFlowBegin ? "s" : "f", e.start_ns,
              e.name);
        if (e.kind == EventKind::kFlowEnd) line_ += ",\"bp\":\"e\"";
        line_ += ",\"id\":" + std::to_string(e.correlation) + "}";
        break;
      case EventKind::kAllocate:
      case EventKind::kFree:
        Begin(e, "C", e.start_ns, std::string("memory of ") + e.category);
        line_ += ",\"args\":{\"allocated\":";
        AppendJsonNumber(e.total, &line_);
        line_ += "}}";
        break;
    }
    Flush();
  }

  void AddAsync(const Event& e) {
    const std::string id = ",\"id\":" + std::to_string(++async_);
    Begin(e, "b", e.start_ns, e.name);
    line_ += id;
    Arguments(e);
    Flush();
    Begin(e, "e", e.end_ns, e.name);
    line_ += id + "}";
    Flush();
  }

  void Argument(const char* key, std::string_view text) {
    line_ += line_.back() == '{' ? "\"" : ",\"";
    line_ += key;
    line_ += "\":";
    AppendJson(text, &line_);
  }
  void Argument(const char* key, double number) {
    line_ += line_.back() == '{' ? "\"" : ",\"";
    line_ += key;
    line_ += "\":";
    AppendJsonNumber(number, &line_);
  }

  void Arguments(const Event& e) {
    line_ += ",\"args\":{";
    if (e.path != nullptr) Argument("path", e.path);
    if (e.correlation != 0) {
      Argument("correlation", static_cast<double>(e.correlation));
    }
    if (e.details != nullptr) {
      if (e.details->shapes != nullptr) Argument("shapes", e.details->shapes);
      if (e.details->source != nullptr) Argument("source", e.details->source);
      if (e.details->flops > 0) Argument("flops", e.details->flops);
      if (e.details->bytes > 0) Argument("bytes", e.details->bytes);
    }
    line_ += "}}";
  }

  void Flush() {
    if (left_out_ > 0 ||
        out_.size() + static_cast<int64_t>(line_.size()) + 2 > most_) {
      ++left_out_;
      return;
    }
    if (!first_) out_.Append(",\n");
    first_ = false;
    out_.Append(line_);
  }

  void Tail() {
    line_ = "\n],\"baseTimeNanoseconds\":" + std::to_string(r_.start_ns);
    line_ += ",\"otherData\":{\"duration_ns\":\"" +
             std::to_string(r_.stop_ns - r_.start_ns);
    line_ += "\",\"dropped_events\":\"" + std::to_string(r_.dropped);
    line_ += "\",\"left_out_events\":\"" + std::to_string(left_out_);
    line_ += "\"}}\n";
    out_.Append(line_);
  }

  const Recording& r_;
  const TrackIds ids_;
  const int64_t most_;
  Output& out_;
  std::string line_;
  bool first_ = true;
  int64_t left_out_ = 0;
  int64_t async_ = 0;
};

}  // namespace

absl::Status WriteChromeTrace(const Recording& recording,
                              const ChromeTraceOptions& options,
                              Output& output) {
  if (options.max_bytes < kFrameBytes) {
    return absl::InvalidArgumentError(
        "chrome trace: max_bytes is " + std::to_string(options.max_bytes) +
        ", but the frame alone needs " + std::to_string(kFrameBytes));
  }
  Writer(recording, options, output).Write();
  return absl::OkStatus();
}

}  // namespace proa::inline v0::profiler
