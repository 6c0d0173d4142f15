// Statistics of a recording: tables of ranges by name, shapes, layer, line or
// thread, of memory, and the tree of calls.
//
//   for (const Row& row : Table(recording, {.categories = {"op"}})) {
//     std::printf("%s %ld\n", row.name.c_str(), long(row.self_ns));
//   }
#ifndef PROA_PROFILER_STATISTICS_H_
#define PROA_PROFILER_STATISTICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

enum class GroupBy : uint8_t {
  kName,
  kNameAndShapes,  // Row::shapes says which
  kCategory,
  // Layers: a row for each path and for each that it lies in ("net", "net.fc").
  // Total is the self time of all ranges at or below it, backward passes
  // included.
  kPath,
  kSource,  // likewise without levels: lines of the program
};

struct TableOptions {
  GroupBy group_by = GroupBy::kName;
  std::vector<std::string> categories;  // empty: all
  bool by_thread = false;               // rows of each thread apart
  bool device = false;  // ranges of devices' queues, instead of the host's
};

struct Row {
  std::string name;
  std::string shapes;
  std::string category;  // of the first
  int64_t thread = -1;   // with by_thread: index into Recording::threads
  int64_t calls = 0;  // layers: how often it was called, if that was recorded
  // Of a range inside of one of the same row only the outer counts for the
  // total.
  int64_t total_ns = 0;
  int64_t self_ns = 0;  // without what ranges inside took
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  int64_t backward_ns =
      0;  // part of total_ns (layers, lines) or self_ns: backward
  // Ops: part of total_ns in which their kernels ran on the cpu; what is left
  // is inference, checks, casts, allocation, and the ops inside of composites.
  int64_t kernel_ns = 0;
  double flops = 0;  // of all calls; 0: unknown
  double bytes = 0;

  double avg_ns() const {
    return calls > 0
               ? static_cast<double>(total_ns) / static_cast<double>(calls)
               : 0;
  }
  // Per second of the time to which they belong.
  double gflops_per_s() const { return Rate(flops); }
  double gbytes_per_s() const { return Rate(bytes); }
  // The share of what the machine can do, by whichever of the two bounds it
  // more; 0 if either is not known.
  double of_roof(const Roof& roof) const;

  // Of `total_ns` rather than of `self_ns`: flops and bytes of everything
  // inside.
  bool work_is_total = false;

 private:
  double Rate(double work) const {
    const int64_t ns = work_is_total ? total_ns : self_ns;
    return ns > 0 ? work / static_cast<double>(ns) : 0;
  }
};

// By total, largest first.
std::vector<Row> Table(const Recording& recording, const TableOptions& options);

struct MemoryRow {
  std::string place;
  std::string tag;
  std::string op;  // the innermost range around; "" if there is none
  int64_t allocations = 0;
  int64_t frees = 0;
  int64_t allocated_bytes = 0;
  int64_t freed_bytes = 0;
  int64_t largest_bytes = 0;
};
// By what was allocated, largest first.
std::vector<MemoryRow> MemoryTable(const Recording& recording);

struct PlaceMemory {
  std::string place;
  int64_t peak_bytes = 0;   // allocated at a time
  int64_t peak_ns = 0;      // when
  int64_t first_bytes = 0;  // at the first and at the last event
  int64_t last_bytes = 0;
};
std::vector<PlaceMemory> MemoryPeaks(const Recording& recording);

struct CallNode {
  const char* name;  // lives as long as the recording
  const char* category;
  uint32_t parent;  // index; that of a root: its own
  uint32_t thread;
  int64_t calls = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;
};
// Ranges merged by their names and those of what is around them, a tree for
// each thread; parents before children. At most `max_nodes`: further ones are
// counted in their parents.
// `devices`: with the queues of devices, whose ranges are called by none.
std::vector<CallNode> CallTree(const Recording& recording,
                               size_t max_nodes = size_t{1} << 20,
                               bool devices = true);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_STATISTICS_H_
