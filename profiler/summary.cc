#include "profiler/summary.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/statistics.h"
#include "profiler/text.h"
#include "profiler/track_ids.h"

namespace proa::inline v0::profiler {
namespace {

constexpr size_t kMostName = 48;

bool StartsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

size_t Characters(std::string_view s) {
  return static_cast<size_t>(
      std::count_if(s.begin(), s.end(), StartsCharacter));
}

// The first (or last) `n` characters.
std::string_view First(std::string_view s, size_t n) {
  size_t i = 0;
  while (i < s.size() && (n > 0 || !StartsCharacter(s[i]))) {
    if (StartsCharacter(s[i])) --n;
    ++i;
  }
  return s.substr(0, i);
}
std::string_view Last(std::string_view s, size_t n) {
  size_t i = s.size();
  while (i > 0 && n > 0) {
    --i;
    if (StartsCharacter(s[i])) --n;
  }
  return s.substr(i);
}

// At most kMostName characters, on one line.
std::string Shown(std::string_view name) {
  std::string text = ValidUtf8(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  if (Characters(text) <= kMostName) return text;
  constexpr size_t kHalf = (kMostName - 3) / 2;
  return std::string(First(text, kHalf)) + "..." +
         std::string(Last(text, kHalf));
}

// Columns of text; the first is flush left.
class TextTable {
 public:
  TextTable(std::string title, std::vector<std::string> header)
      : title_(std::move(title)) {
    rows_.push_back(std::move(header));
  }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  std::string Text() const {
    std::vector<size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], Characters(row[i]));
      }
    }
    size_t width = 0;
    for (const size_t w : widths) width += w + 2;
    const std::string rule = std::string(width - 2, '-') + "\n";
    std::string out = title_ + "\n" + rule;
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t i = 0; i < rows_[r].size(); ++i) {
        const std::string pad(widths[i] - Characters(rows_[r][i]), ' ');
        if (i > 0) out += "  ";
        out += i == 0 ? rows_[r][i] + pad : pad + rows_[r][i];
      }
      while (out.back() == ' ') out.pop_back();
      out += "\n";
      if (r == 0) out += rule;
    }
    return out + rule + "\n";
  }

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

std::string Bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (std::abs(bytes) >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return Fixed(bytes, unit == 0 ? 0 : 2) + " " + units[unit];
}

std::string Percent(double share) { return Fixed(100 * share, 2); }

class Writer {
 public:
  Writer(const Recording& r, const SummaryOptions& options)
      : r_(r),
        o_(options),
        wall_ns_(static_cast<double>(r.stop_ns - r.start_ns)) {
    for (const auto& [name, ns] :
         {std::pair{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}}) {
      if (options.time_unit == name) {
        unit_ = name;
        unit_ns_ = ns;
      }
    }
  }

  std::string Write() {
    Head();
    if (Has(kOverviewView))
      Ranges("Overview: time by kind", {.group_by = GroupBy::kCategory});
    if (Has(kStepView)) Steps();
    if (Has(kLayerView))
      Places("Layers (everything inside, with backward)", GroupBy::kPath);
    if (Has(kOpView)) {
      const GroupBy group =
          o_.shapes ? GroupBy::kNameAndShapes : GroupBy::kName;
      Ranges("Operators", {.group_by = group, .categories = {"op"}});
      Ranges("Backward", {.categories = {"backward", "pass"}});
    }
    if (Has(kKernelView)) Ranges("Kernels", {.device = true});
    if (Has(kUserView)) {
      Ranges("Ranges of the program",
             {.categories = {"user", "python user", "python", "dataloader",
                             "optimizer", "forward", "communication"}});
    }
    if (Has(kSourceView)) Places("Lines of the program", GroupBy::kSource);
    if (Has(kThreadView)) Threads();
    if (Has(kMemoryView)) Memory();
    return std::move(out_);
  }

 private:
  bool Has(View view) const { return (o_.views & view) != 0; }
  std::string Time(double ns) const {
    return Fixed(ns / unit_ns_, unit_ns_ == 1 ? 0 : 3);
  }
  std::string Time(int64_t ns) const { return Time(static_cast<double>(ns)); }
  std::string Share(int64_t ns) const {
    return Percent(wall_ns_ > 0 ? static_cast<double>(ns) / wall_ns_ : 0);
  }

  void Head() {
    out_ += "Recorded " + Time(wall_ns_) + " " + unit_ + ": " +
            std::to_string(r_.events.size()) + " events of " +
            std::to_string(HostThreads(r_)) + " threads";
    if (r_.dropped > 0) out_ += ", " + std::to_string(r_.dropped) + " dropped";
    if (r_.clock_steps > 0) {
      out_ += ", " + std::to_string(r_.clock_steps) +
              " of no length because a clock went back";
    }
    out_ += ". Times in " + std::string(unit_) + ".\n\n";
  }

  double KeyOf(const Row& row) const {
    switch (o_.sorted_by) {
      case SortedBy::kSelf:
        return static_cast<double>(row.self_ns);
      case SortedBy::kAverage:
        return row.avg_ns();
      case SortedBy::kMax:
        return static_cast<double>(row.max_ns);
      case SortedBy::kMin:
        return static_cast<double>(row.min_ns);
      case SortedBy::kCalls:
        return static_cast<double>(row.calls);
      case SortedBy::kTotal:
        break;
    }
    return static_cast<double>(row.total_ns);
  }

  std::vector<Row> Sorted(const TableOptions& options) const {
    std::vector<Row> rows = Table(r_, options);
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return KeyOf(a) > KeyOf(b);
    });
    return rows;
  }

  // Runs `write` for all threads together, or for each.
  void ForThreads(const std::string& title, TableOptions options,
                  const std::function<void(const std::string&,
                                           const std::vector<Row>&)>& write) {
    options.by_thread = o_.by_thread;
    const std::vector<Row> rows = Sorted(options);
    if (!o_.by_thread) return write(title, rows);
    for (size_t t = 0; t < r_.threads.size(); ++t) {
      std::vector<Row> of_thread;
      for (const Row& row : rows) {
        if (row.thread == static_cast<int64_t>(t)) of_thread.push_back(row);
      }
      write(title + ", thread " + std::to_string(t) + " (" +
                Shown(TrackName(r_.threads[t])) + ")",
            of_thread);
    }
  }

  void Ranges(const std::string& title, const TableOptions& options) {
    ForThreads(title, options,
               [&](const std::string& t, const std::vector<Row>& rows) {
                 RangeTable(t, rows);
               });
  }

  void RangeTable(const std::string& title, const std::vector<Row>& rows) {
    const bool shapes = std::any_of(rows.begin(), rows.end(), [](const Row& r) {
      return !r.shapes.empty();
    });
    const bool work = std::any_of(rows.begin(), rows.end(), [](const Row& r) {
      return r.flops > 0 || r.bytes > 0;
    });
    const bool roof =
        work && (r_.roof.gflops_per_s > 0 || r_.roof.gbytes_per_s > 0);
    const bool kernels = std::any_of(
        rows.begin(), rows.end(), [](const Row& r) { return r.kernel_ns > 0; });
    std::vector<std::string> header = {"name", "calls", "total", "self",
                                       "avg",  "min",   "max",   "wall %"};
    if (kernels) header.push_back("kernel");
    if (work) header.insert(header.end(), {"GFLOP/s", "GB/s"});
    if (roof) header.push_back("roof %");
    if (shapes) header.push_back("shapes");
    TextTable table(title, header);
    int64_t rest = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      if (static_cast<int>(i) >= o_.max_rows) {
        rest += row.self_ns;
        continue;
      }
      std::vector<std::string> cells = {
          Shown(row.name),   std::to_string(row.calls), Time(row.total_ns),
          Time(row.self_ns), Time(row.avg_ns()),        Time(row.min_ns),
          Time(row.max_ns),  Share(row.total_ns)};
      if (kernels) {
        cells.push_back(row.kernel_ns > 0 ? Time(row.kernel_ns) : "");
      }
      if (work) {
        cells.push_back(row.flops > 0 ? Fixed(row.gflops_per_s(), 2) : "");
        cells.push_back(row.bytes > 0 ? Fixed(row.gbytes_per_s(), 2) : "");
      }
      if (roof) {
        const double share = row.of_roof(r_.roof);
        cells.push_back(share > 0 ? Percent(share) : "");
      }
      if (shapes) cells.push_back(Shown(row.shapes));
      table.Add(std::move(cells));
    }
    if (rows.size() > static_cast<size_t>(std::max(o_.max_rows, 0))) {
      table.Add(
          {"(" +
               std::to_string(rows.size() - static_cast<size_t>(o_.max_rows)) +
               " more)",
           "", "", Time(rest)});
    }
    if (!table.empty()) out_ += table.Text();
  }

  void Places(const std::string& title, GroupBy group) {
    ForThreads(
        title, {.group_by = group},
        [&](const std::string& t, const std::vector<Row>& rows) {
          TextTable table(t, {"name", "calls", "total", "forward", "backward",
                              "self", "wall %"});
          for (size_t i = 0;
               i < rows.size() && static_cast<int>(i) < o_.max_rows; ++i) {
            const Row& row = rows[i];
            table.Add({Shown(row.name), std::to_string(row.calls),
                       Time(row.total_ns), Time(row.total_ns - row.backward_ns),
                       Time(row.backward_ns), Time(row.self_ns),
                       Share(row.total_ns)});
          }
          if (!table.empty()) out_ += table.Text();
        });
  }

  void Steps() {
    TextTable table("Steps", {"name", "time", "wall %"});
    int shown = 0;
    for (const Event& e : r_.events) {
      if (e.kind != EventKind::kRange || std::string_view(e.category) != "step")
        continue;
      if (++shown > o_.max_rows) break;
      table.Add({Shown(e.name), Time(e.end_ns - e.start_ns),
                 Share(e.end_ns - e.start_ns)});
    }
    if (!table.empty()) out_ += table.Text();
  }

  void Threads() {
    TextTable table("Threads", {"thread", "events", "busy", "wall %"});
    std::vector<int64_t> events(r_.threads.size()), busy(r_.threads.size());
    for (const Event& e : r_.events) ++events[e.thread];
    for (const CallNode& node : CallTree(r_)) busy[node.thread] += node.self_ns;
    for (size_t t = 0; t < r_.threads.size(); ++t) {
      table.Add({Shown(TrackName(r_.threads[t])), std::to_string(events[t]),
                 Time(busy[t]), Share(busy[t])});
    }
    if (r_.threads.size() > 1) out_ += table.Text();
  }

  void Memory() {
    TextTable peaks("Memory by place",
                    {"place", "peak", "peak at " + std::string(unit_),
                     "at first", "at last"});
    for (const PlaceMemory& p : MemoryPeaks(r_)) {
      peaks.Add({Shown(p.place), Bytes(static_cast<double>(p.peak_bytes)),
                 Time(p.peak_ns - r_.start_ns),
                 Bytes(static_cast<double>(p.first_bytes)),
                 Bytes(static_cast<double>(p.last_bytes))});
    }
    if (peaks.empty()) return;
    out_ += peaks.Text();
    TextTable table("Allocations", {"by", "place", "tag", "number", "bytes",
                                    "largest", "freed"});
    int shown = 0;
    for (const MemoryRow& row : MemoryTable(r_)) {
      if (++shown > o_.max_rows) break;
      table.Add({Shown(row.op), Shown(row.place), Shown(row.tag),
                 std::to_string(row.allocations),
                 Bytes(static_cast<double>(row.allocated_bytes)),
                 Bytes(static_cast<double>(row.largest_bytes)),
                 Bytes(static_cast<double>(row.freed_bytes))});
    }
    out_ += table.Text();
  }

  const Recording& r_;
  const SummaryOptions& o_;
  const double wall_ns_;
  const char* unit_ = "ms";
  double unit_ns_ = 1e6;
  std::string out_;
};

}  // namespace

std::string Summary(const Recording& recording, const SummaryOptions& options) {
  return Writer(recording, options).Write();
}

}  // namespace proa::inline v0::profiler
