// Recordings made by hand, for tests: two threads, every kind of event, a
// forward op and its backward.
#ifndef PROA_PROFILER_TESTING_RECORDING_H_
#define PROA_PROFILER_TESTING_RECORDING_H_

#include <algorithm>
#include <string>

#include "profiler/recording.h"

namespace proa::inline v0::profiler::testing {

inline Event MakeRange(const char* name, const char* category, int64_t start,
                       int64_t end, uint32_t thread = 0) {
  return {.name = name,
          .category = category,
          .start_ns = start,
          .end_ns = end,
          .thread = thread};
}

// With one process and `threads` threads, from 1000 to 11000 ns.
inline Recording MakeRecording(int threads = 1) {
  Recording r;
  r.start_ns = 1000;
  r.stop_ns = 11000;
  r.processes.push_back({.system_id = 77, .name = "train", .host = "box"});
  for (int t = 0; t < threads; ++t) {
    r.threads.push_back(
        {.system_id = 100 + t, .name = "worker " + std::to_string(t)});
  }
  return r;
}

inline void Sort(Recording* r) {
  std::stable_sort(r->events.begin(), r->events.end(), Earlier);
}

// Times on thread 0:
//   step 1000..11000 { layer "net" { layer "net.fc" { linear 2000..4000 } }
//                      backward 5000..9000 { linear_grad { matmul 6000..8000 }
//                      } }
// on thread 1: DataLoader 2000..3000; on a queue of gpu:0: kernel 4500..5500.
inline Recording MakeTraining() {
  static const Details kLinear{.shapes = "[2, 3] float32",
                               .source = "train.py:12",
                               .flops = 4000,
                               .bytes = 1000};
  static const Details kMatmul{.shapes = "[3, 2] float32, [2, 4] float32",
                               .flops = 8000};
  Recording r = MakeRecording(2);
  r.threads.push_back({.system_id = 7, .device = "gpu:0"});
  Event e = MakeRange("ProfileStep#0", "step", 1000, 11000);
  r.events.push_back(e);
  e = MakeRange("Net", "layer", 1500, 4500);
  e.path = "net";
  r.events.push_back(e);
  e = MakeRange("Linear", "layer", 1800, 4200);
  e.path = "net.fc";
  r.events.push_back(e);
  e = MakeRange("linear", "op", 2000, 4000);
  e.path = "net.fc";
  e.details = &kLinear;
  e.correlation = 41;
  r.events.push_back(e);
  r.events.push_back(MakeRange("backward", "pass", 5000, 9000));
  e = MakeRange("linear_grad", "backward", 5500, 8500);
  e.correlation = 41;
  r.events.push_back(e);
  e = MakeRange("matmul", "op", 6000, 8000);
  e.details = &kMatmul;
  r.events.push_back(e);
  r.events.push_back(MakeRange("DataLoader", "dataloader", 2000, 3000, 1));
  r.events.push_back(MakeRange("gemm", "kernel", 4500, 5500, 2));
  const auto moment = [&](EventKind kind, const char* name,
                          const char* category, int64_t ns, double value,
                          uint64_t correlation, double total) {
    r.events.push_back({.name = name,
                        .category = category,
                        .start_ns = ns,
                        .end_ns = ns,
                        .value = value,
                        .correlation = correlation,
                        .total = total,
                        .kind = kind});
  };
  moment(EventKind::kInstant, "epoch ends", "user", 9500, 0, 0, 0);
  moment(EventKind::kCounter, "loss", "user", 9600, 0.25, 0, 0);
  moment(EventKind::kFlowBegin, "batch", "user", 2900, 0, 5, 0);
  moment(EventKind::kFlowEnd, "batch", "user", 3100, 0, 5, 0);
  moment(EventKind::kAllocate, "tensor", "cpu", 3000, 4096, 0x1000, 8192);
  moment(EventKind::kAllocate, "tensor", "cpu", 7000, 1024, 0x3000, 9216);
  moment(EventKind::kFree, "tensor", "cpu", 9700, 4096, 0x1000, 5120);
  Event async = MakeRange("request", "user", 2500, 9900);
  async.kind = EventKind::kAsync;
  r.events.push_back(async);
  Sort(&r);
  return r;
}

}  // namespace proa::inline v0::profiler::testing

#endif  // PROA_PROFILER_TESTING_RECORDING_H_
