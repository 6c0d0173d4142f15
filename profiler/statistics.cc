#include "profiler/statistics.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiler/walk.h"

namespace proa::inline v0::profiler {
namespace {

const char* OrEmpty(const char* s) { return s == nullptr ? "" : s; }

// Rows by what makes them one, and how many ranges of each are open.
class Rows {
 public:
  explicit Rows(const TableOptions& options) : options_(options) {}

  size_t Find(std::string_view name, std::string_view shapes,
              std::string_view category, uint32_t thread) {
    const int64_t row_thread = options_.by_thread ? thread : -1;
    Key key{std::string(name), std::string(shapes), row_thread};
    const auto [at, is_new] = index_.emplace(std::move(key), rows_.size());
    if (is_new) {
      rows_.push_back({.name = std::string(name),
                       .shapes = std::string(shapes),
                       .category = std::string(category),
                       .thread = row_thread});
    }
    return at->second;
  }
  Row& operator[](size_t i) { return rows_[i]; }

  std::vector<Row> Sorted() && {
    std::stable_sort(
        rows_.begin(), rows_.end(),
        [](const Row& a, const Row& b) { return a.total_ns > b.total_ns; });
    return std::move(rows_);
  }

 private:
  using Key = std::tuple<std::string, std::string, int64_t>;
  const TableOptions& options_;
  std::vector<Row> rows_;
  std::map<Key, size_t> index_;
};

bool Wanted(const TableOptions& options, const Recording& r, const Event& e) {
  if (options.device == r.threads[e.thread].device.empty()) return false;
  return options.categories.empty() ||
         std::find(options.categories.begin(), options.categories.end(),
                   e.category) != options.categories.end();
}

void AddCall(Row& row, int64_t duration) {
  row.min_ns = row.calls == 0 ? duration : std::min(row.min_ns, duration);
  row.max_ns = std::max(row.max_ns, duration);
  ++row.calls;
}

void AddWork(Row& row, const Event& e) {
  if (e.details == nullptr) return;
  row.flops += e.details->flops;
  row.bytes += e.details->bytes;
}

std::string_view NameIn(const TableOptions& options, const Event& e) {
  return options.group_by == GroupBy::kCategory ? e.category : e.name;
}
std::string_view ShapesIn(const TableOptions& options, const Event& e) {
  const bool shown = options.group_by == GroupBy::kNameAndShapes;
  return shown && e.details != nullptr ? OrEmpty(e.details->shapes) : "";
}

// Async ranges are no part of the time of their threads: they have no self
// time.
void AddAsync(const Recording& r, const TableOptions& options, Rows* rows) {
  for (const Event& e : r.events) {
    if (e.kind != EventKind::kAsync || !Wanted(options, r, e)) continue;
    Row& row = (*rows)[rows->Find(NameIn(options, e), ShapesIn(options, e),
                                  e.category, e.thread)];
    AddCall(row, e.end_ns - e.start_ns);
    row.total_ns += e.end_ns - e.start_ns;
  }
}

// Finds the kernel of an op: the range that ends with it on the cpu's track
// beside its thread (AddKernel). Ops are asked for in the order of their ends.
class CpuKernels {
 public:
  explicit CpuKernels(const Recording& r) : tracks_(r.threads.size()) {
    std::map<std::pair<uint32_t, int64_t>, uint32_t> owners;
    for (uint32_t t = 0; t < r.threads.size(); ++t) {
      const ThreadInfo& thread = r.threads[t];
      if (thread.device.empty()) owners[{thread.process, thread.system_id}] = t;
    }
    std::vector<Track*> of_cpu(r.threads.size(), nullptr);
    for (uint32_t t = 0; t < r.threads.size(); ++t) {
      const ThreadInfo& thread = r.threads[t];
      if (thread.device != "cpu") continue;
      const auto owner = owners.find({thread.process, thread.system_id});
      if (owner != owners.end()) of_cpu[t] = &tracks_[owner->second];
    }
    for (const Event& e : r.events) {
      Track* track = of_cpu[e.thread];
      if (track != nullptr && e.kind == EventKind::kRange) {
        track->kernels.push_back(&e);
      }
    }
  }

  int64_t TimeOf(const Event& op) {
    Track& track = tracks_[op.thread];
    size_t& next = track.next;
    const std::vector<const Event*>& kernels = track.kernels;
    while (next < kernels.size() && kernels[next]->end_ns < op.end_ns) ++next;
    if (next == kernels.size() || kernels[next]->end_ns != op.end_ns ||
        kernels[next]->start_ns < op.start_ns) {
      return 0;
    }
    const Event& kernel = *kernels[next++];
    return kernel.end_ns - kernel.start_ns;
  }

 private:
  struct Track {
    std::vector<const Event*> kernels;  // by start, and so by end
    size_t next = 0;
  };
  std::vector<Track> tracks_;  // by thread of the host
};

// Rows whose ranges do not share time but in nesting. A frame's `user` is the
// number of its row plus 1.
std::vector<Row> FlatTable(const Recording& r, const TableOptions& options) {
  Rows rows(options);
  CpuKernels kernels(r);
  std::vector<std::unordered_map<uint64_t, int>> open(r.threads.size());
  WalkFunctions f;
  f.enter = [&](std::span<const Frame> stack) -> uint64_t {
    const Event& e = *stack.back().event;
    if (!Wanted(options, r, e)) return 0;
    const uint64_t id = rows.Find(NameIn(options, e), ShapesIn(options, e),
                                  e.category, e.thread) +
                        1;
    ++open[e.thread][id];
    return id;
  };
  f.leave = [&](const Visit& v) {
    const bool op = std::string_view(v.event->category) == "op";
    const int64_t kernel_ns = op ? kernels.TimeOf(*v.event) : 0;
    const uint64_t id = v.stack.back().user;
    if (id == 0) return;
    Row& row = rows[id - 1];
    row.kernel_ns += kernel_ns;
    AddCall(row, v.duration_ns);
    AddWork(row, *v.event);
    row.self_ns += v.self_ns;
    if (v.stack.back().backward) row.backward_ns += v.self_ns;
    if (--open[v.event->thread][id] == 0) row.total_ns += v.duration_ns;
  };
  Walk(r, f);
  AddAsync(r, options, &rows);
  return std::move(rows).Sorted();
}

// Calls `f` with "a", "a.b", "a.b.c".
template <typename F>
void ForEachLevel(std::string_view path, F&& f) {
  for (size_t dot = path.find('.'); dot != std::string_view::npos;
       dot = path.find('.', dot + 1)) {
    f(path.substr(0, dot));
  }
  f(path);
}

// Layers and lines: self times of everything there.
std::vector<Row> PlaceTable(const Recording& r, const TableOptions& options) {
  const bool paths = options.group_by == GroupBy::kPath;
  Rows rows(options);
  WalkFunctions f;
  f.leave = [&](const Visit& v) {
    const Event& e = *v.event;
    const Frame& here = v.stack.back();
    const char* place = paths ? here.path : here.source;
    if (place == nullptr || !Wanted(options, r, e)) return;
    const auto add = [&](std::string_view name) {
      Row& row = rows[rows.Find(name, "", paths ? "layer" : "line", e.thread)];
      row.work_is_total = true;
      row.total_ns += v.self_ns;
      if (here.backward) row.backward_ns += v.self_ns;
      AddWork(row, e);
    };
    if (paths) {
      ForEachLevel(place, add);
    } else {
      add(place);
    }
    Row& row = rows[rows.Find(place, "", "", e.thread)];
    row.self_ns += v.self_ns;
    if (std::string_view(e.category) == (paths ? "layer" : "op")) {
      AddCall(row, v.duration_ns);
    }
  };
  Walk(r, f);
  return std::move(rows).Sorted();
}

}  // namespace

double Row::of_roof(const Roof& roof) const {
  double share = 0;
  if (roof.gflops_per_s > 0) share = gflops_per_s() / roof.gflops_per_s;
  if (roof.gbytes_per_s > 0) {
    share = std::max(share, gbytes_per_s() / roof.gbytes_per_s);
  }
  return share;
}

std::vector<Row> Table(const Recording& recording,
                       const TableOptions& options) {
  const bool places = options.group_by == GroupBy::kPath ||
                      options.group_by == GroupBy::kSource;
  return places ? PlaceTable(recording, options)
                : FlatTable(recording, options);
}

std::vector<MemoryRow> MemoryTable(const Recording& recording) {
  std::map<std::tuple<std::string, std::string, std::string>, MemoryRow> rows;
  WalkFunctions f;
  f.moment = [&](const Event& e, std::span<const Frame> stack) {
    if (e.kind != EventKind::kAllocate && e.kind != EventKind::kFree) return;
    const char* op = stack.empty() ? "" : stack.back().event->name;
    MemoryRow& row = rows[{e.category, e.name, op}];
    row.place = e.category;
    row.tag = e.name;
    row.op = op;
    const auto bytes = static_cast<int64_t>(std::clamp(e.value, 0.0, 9e18));
    if (e.kind == EventKind::kAllocate) {
      ++row.allocations;
      row.allocated_bytes += bytes;
      row.largest_bytes = std::max(row.largest_bytes, bytes);
    } else {
      ++row.frees;
      row.freed_bytes += bytes;
    }
  };
  Walk(recording, f);
  std::vector<MemoryRow> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const MemoryRow& a, const MemoryRow& b) {
                     return a.allocated_bytes > b.allocated_bytes;
                   });
  return sorted;
}

std::vector<PlaceMemory> MemoryPeaks(const Recording& recording) {
  std::map<std::string, PlaceMemory> places;
  for (const Event& e : recording.events) {
    if (e.kind != EventKind::kAllocate && e.kind != EventKind::kFree) continue;
    const auto total = static_cast<int64_t>(std::clamp(e.total, -9e18, 9e18));
    const auto [at, is_new] = places.emplace(e.category, PlaceMemory{});
    PlaceMemory& p = at->second;
    if (is_new) {
      p.place = e.category;
      p.first_bytes = total;
    }
    if (is_new || total > p.peak_bytes) {
      p.peak_bytes = total;
      p.peak_ns = e.start_ns;
    }
    p.last_bytes = total;
  }
  std::vector<PlaceMemory> out;
  for (auto& [name, p] : places) out.push_back(std::move(p));
  return out;
}

std::vector<CallNode> CallTree(const Recording& recording, size_t max_nodes,
                               bool devices) {
  constexpr uint64_t kRoot = ~uint32_t{0};
  std::vector<CallNode> nodes;
  // (parent or thread, name) to node; names are compared by their text, since a
  // recording that was merged may have one twice.
  std::map<std::tuple<uint64_t, uint32_t, std::string_view>, uint32_t> index;
  WalkFunctions f;
  f.enter = [&](std::span<const Frame> stack) -> uint64_t {
    const Event& e = *stack.back().event;
    if (!devices && !recording.threads[e.thread].device.empty()) return kRoot;
    const uint64_t parent =
        stack.size() > 1 ? stack[stack.size() - 2].user : kRoot;
    const auto next = static_cast<uint32_t>(nodes.size());
    const std::tuple<uint64_t, uint32_t, std::string_view> key{
        parent, parent == kRoot ? e.thread : 0, e.name};
    if (const auto at = index.find(key); at != index.end()) return at->second;
    if (nodes.size() >= max_nodes) return parent;
    index.emplace(key, next);
    nodes.push_back({e.name, e.category,
                     parent == kRoot ? next : static_cast<uint32_t>(parent),
                     e.thread});
    return next;
  };
  f.leave = [&](const Visit& v) {
    const uint64_t id = v.stack.back().user;
    if (id == kRoot) return;
    CallNode& node = nodes[id];
    node.self_ns += v.self_ns;
    const uint64_t parent =
        v.stack.size() > 1 ? v.stack[v.stack.size() - 2].user : kRoot;
    if (parent == id) return;  // had no room of its own
    ++node.calls;
    node.total_ns += v.duration_ns;
  };
  Walk(recording, f);
  return nodes;
}

}  // namespace proa::inline v0::profiler
