#include "profiler/html_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/html_page.h"
#include "profiler/statistics.h"
#include "profiler/text.h"
#include "profiler/track_ids.h"
#include "profiler/walk.h"

namespace proa::inline v0::profiler {
namespace {

// A range on the timeline.
struct Bar {
  uint32_t thread;
  uint32_t depth;
  int64_t start_ns;
  int64_t duration_ns;
  const char* name;
};

// The longest `most` of all ranges, in the order of their beginnings.
std::vector<Bar> LongestBars(const Recording& r, size_t most) {
  std::vector<Bar> bars;
  const auto longer = [](const Bar& a, const Bar& b) {
    return a.duration_ns > b.duration_ns;
  };
  WalkFunctions f;
  f.leave = [&](const Visit& v) {
    // A heap whose top is the shortest.
    bars.push_back({v.event->thread, static_cast<uint32_t>(v.stack.size() - 1),
                    v.event->start_ns, v.duration_ns, v.event->name});
    std::push_heap(bars.begin(), bars.end(), longer);
    if (bars.size() > most) {
      std::pop_heap(bars.begin(), bars.end(), longer);
      bars.pop_back();
    }
  };
  Walk(r, f);
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
                                    : a.depth < b.depth;
  });
  return bars;
}

// What was allocated at a place over time: at most `most` points, of each
// stretch of time the highest.
class MemoryCurve {
 public:
  explicit MemoryCurve(size_t most) : most_(std::max<size_t>(most, 2)) {}

  void Add(int64_t ns, double bytes) {
    points_.emplace_back(ns, bytes);
    if (points_.size() >= 2 * most_) Halve();
  }
  std::vector<std::pair<int64_t, double>> Points() && {
    while (points_.size() > most_) Halve();
    return std::move(points_);
  }

 private:
  void Halve() {
    size_t n = 0;
    for (size_t i = 0; i + 1 < points_.size(); i += 2) {
      points_[n++] = points_[i].second > points_[i + 1].second ? points_[i]
                                                               : points_[i + 1];
    }
    if (points_.size() % 2 == 1) points_[n++] = points_.back();
    points_.resize(n);
  }

  const size_t most_;
  std::vector<std::pair<int64_t, double>> points_;
};

std::string Ms(int64_t ns) { return Fixed(static_cast<double>(ns) / 1e6, 3); }

class Writer {
 public:
  Writer(const Recording& r, const HtmlReportOptions& options, Output& output)
      : r_(r), o_(options), out_(output) {}

  void Write() {
    const std::string title = HtmlText(o_.title);
    out_.Append(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" "
        "lang=\"en\">\n<head><meta charset=\"utf-8\"/>\n<title>" +
        title + "</title>\n<style>" + kReportStyle +
        "</style></head>\n<body>\n");
    out_.Append("<h1>" + title + "</h1>\n<p class=\"note\">" + Head() +
                "</p>\n");
    out_.Append("<h2>Timeline</h2>\n<canvas id=\"timeline\"></canvas>\n");
    out_.Append("<h2>Flame graph</h2>\n<canvas id=\"flame\"></canvas>\n");
    Curves();
    Tables();
    out_.Append("<div id=\"tip\"></div>\n");
    Data();
    out_.Append("<script>" + std::string(kReportScript) +
                "</script>\n</body>\n</html>\n");
  }

 private:
  std::string Head() const {
    std::string text = Ms(r_.stop_ns - r_.start_ns) + " ms, " +
                       std::to_string(r_.events.size()) + " events, " +
                       std::to_string(HostThreads(r_)) + " threads, " +
                       std::to_string(r_.processes.size()) + " processes";
    if (r_.dropped > 0) {
      text += "; " + std::to_string(r_.dropped) + " events were dropped";
    }
    return text + ". Wheel: zoom; drag: move; double click: everything.";
  }

  void Curves() {
    for (const Event& e : r_.events) {
      if (e.kind != EventKind::kAllocate && e.kind != EventKind::kFree)
        continue;
      const auto at =
          curves_.try_emplace(e.category, MemoryCurve(o_.max_memory_points))
              .first;
      at->second.Add(e.start_ns - r_.start_ns, e.total);
    }
    int i = 0;
    for (const auto& [place, curve] : curves_) {
      out_.Append("<h2>Memory of " + HtmlText(place) +
                  "</h2>\n<canvas id=\"memory" + std::to_string(i++) +
                  "\"></canvas>\n");
    }
  }

  void Tables() {
    RangeTable("ops", "Operators",
               {.group_by = GroupBy::kNameAndShapes, .categories = {"op"}});
    RangeTable("backward", "Backward", {.categories = {"backward", "pass"}});
    RangeTable("kernels", "Kernels", {.device = true});
    RangeTable("layers", "Layers, with backward", {.group_by = GroupBy::kPath});
    RangeTable("lines", "Lines of the program", {.group_by = GroupBy::kSource});
    RangeTable("kinds", "Kinds", {.group_by = GroupBy::kCategory});
    RangeTable("user", "Ranges of the program",
               {.categories = {"user", "python user", "step", "dataloader",
                               "optimizer"}});
    Allocations();
  }

  static std::string RowOf(const char* cell,
                           const std::vector<std::string>& texts) {
    std::string row = "<tr>";
    for (const std::string& text : texts) {
      row += "<" + std::string(cell) + ">" + HtmlText(text) + "</" + cell + ">";
    }
    return row + "</tr>\n";
  }

  void BeginTable(const char* id, const char* title,
                  const std::vector<std::string>& header) {
    out_.Append("<h2>" + HtmlText(title) + "</h2>\n<table id=\"" + id +
                "\"><thead>" + RowOf("th", header) + "</thead><tbody>\n");
  }

  void RangeTable(const char* id, const char* title,
                  const TableOptions& options) {
    const std::vector<Row> rows = Table(r_, options);
    if (rows.empty()) return;
    BeginTable(id, title,
               {"name", "calls", "total ms", "self ms", "kernel ms", "avg ms",
                "min ms", "max ms", "GFLOP/s", "GB/s", "roof %", "shapes"});
    for (size_t i = 0; i < rows.size() && i < o_.max_rows; ++i) {
      const Row& row = rows[i];
      out_.Append(RowOf(
          "td",
          {row.name, std::to_string(row.calls), Ms(row.total_ns),
           Ms(row.self_ns), row.kernel_ns > 0 ? Ms(row.kernel_ns) : "",
           Fixed(row.avg_ns() / 1e6, 3), Ms(row.min_ns), Ms(row.max_ns),
           row.flops > 0 ? Fixed(row.gflops_per_s(), 2) : "",
           row.bytes > 0 ? Fixed(row.gbytes_per_s(), 2) : "",
           row.of_roof(r_.roof) > 0 ? Fixed(100 * row.of_roof(r_.roof), 1) : "",
           row.shapes}));
    }
    out_.Append("</tbody></table>\n");
  }

  void Allocations() {
    const std::vector<MemoryRow> rows = MemoryTable(r_);
    if (rows.empty()) return;
    BeginTable("allocations", "Allocations",
               {"by", "place", "tag", "number", "bytes", "largest", "freed"});
    for (size_t i = 0; i < rows.size() && i < o_.max_rows; ++i) {
      const MemoryRow& row = rows[i];
      out_.Append(RowOf(
          "td", {row.op, row.place, row.tag, std::to_string(row.allocations),
                 std::to_string(row.allocated_bytes),
                 std::to_string(row.largest_bytes),
                 std::to_string(row.freed_bytes)}));
    }
    out_.Append("</tbody></table>\n");
  }

  // Data, as JSON in which no "<" occurs.

  uint32_t NameIndex(std::string_view name) {
    const auto [at, is_new] =
        names_.emplace(name, static_cast<uint32_t>(names_.size()));
    if (is_new) name_list_.push_back(at->first);
    return at->second;
  }

  template <typename List, typename F>
  void JsonList(const char* key, const List& list, F&& item) {
    out_.Append("\n,\"" + std::string(key) + "\":[");
    std::string text;
    bool first = true;
    for (const auto& element : list) {
      text = first ? "" : ",";
      first = false;
      item(element, &text);
      out_.Append(text);
    }
    out_.Append("]");
  }

  void Data() {
    out_.Append("<script type=\"application/json\" id=\"data\">{\"duration\":" +
                std::to_string(std::max<int64_t>(r_.stop_ns - r_.start_ns, 1)));
    JsonList("threads", r_.threads, [](const ThreadInfo& t, std::string* out) {
      AppendJson(TrackName(t), out);
    });
    JsonList("ranges", LongestBars(r_, o_.max_ranges),
             [&](const Bar& b, std::string* out) {
               *out += "[" + std::to_string(b.thread) + "," +
                       std::to_string(b.depth) + "," +
                       std::to_string(b.start_ns - r_.start_ns) + "," +
                       std::to_string(b.duration_ns) + "," +
                       std::to_string(NameIndex(b.name)) + "]";
             });
    JsonList("flame", CallTree(r_, o_.max_flame_nodes, /*devices=*/false),
             [&](const CallNode& n, std::string* out) {
               *out += "[" + std::to_string(n.parent) + "," +
                       std::to_string(NameIndex(n.name)) + "," +
                       std::to_string(n.total_ns) + "," +
                       std::to_string(n.self_ns) + "," +
                       std::to_string(n.calls) + "]";
             });
    JsonList("memory", curves_, [](auto& entry, std::string* out) {
      *out += "{\"place\":";
      AppendJson(entry.first, out);
      *out += ",\"points\":[";
      MemoryCurve curve = entry.second;
      bool first = true;
      for (const auto& [ns, bytes] : std::move(curve).Points()) {
        *out += (first ? "[" : ",[") + std::to_string(ns) + ",";
        AppendJsonNumber(bytes, out);
        *out += "]";
        first = false;
      }
      *out += "]}";
    });
    JsonList("names", name_list_,
             [](const std::string& name, std::string* out) {
               AppendJson(name, out);
             });
    out_.Append("}</script>\n");
  }

  const Recording& r_;
  const HtmlReportOptions& o_;
  Output& out_;
  std::map<std::string, MemoryCurve> curves_;
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<std::string> name_list_;
};

}  // namespace

absl::Status WriteHtmlReport(const Recording& recording,
                             const HtmlReportOptions& options, Output& output) {
  Writer(recording, options, output).Write();
  return absl::OkStatus();
}

}  // namespace proa::inline v0::profiler
