// A program that vendors profiler/ alone: records, saves, loads, and writes
// each format.
#include <cstdio>
#include <string>
#include <thread>

#include "profiler/chrome_trace.h"
#include "profiler/events.h"
#include "profiler/folded_stacks.h"
#include "profiler/html_report.h"
#include "profiler/output.h"
#include "profiler/perfetto.h"
#include "profiler/profile_file.h"
#include "profiler/statistics.h"
#include "profiler/summary.h"

using namespace proa;

namespace {

void Work() {
  profiler::Range range("load batch");
  profiler::Counter("queue", 3);
}

int Fail(const char* what) {
  std::printf("%s failed\n", what);
  return 1;
}

}  // namespace

int main() {
  profiler::Start();
  {
    profiler::Range step("step");
    Work();
    std::thread(Work).join();
  }
  const profiler::Recording recorded = profiler::Take();
  if (!profiler::SaveProfile(recorded, "profile.pb").ok()) return Fail("save");
  const auto loaded = profiler::LoadProfile("profile.pb");
  if (!loaded.ok()) return Fail("load");
  if (profiler::Summary(*loaded, {}).find("load batch") == std::string::npos)
    return Fail("summary");
  const auto write = [&](const char* path, auto&& f) {
    return profiler::WriteFile(path, false,
                               [&](profiler::Output& out) { return f(out); })
        .ok();
  };
  if (!write("trace.json",
             [&](auto& out) {
               return profiler::WriteChromeTrace(*loaded, {}, out);
             }) ||
      !write("trace.perfetto",
             [&](auto& out) {
               return profiler::WritePerfettoTrace(*loaded, out);
             }) ||
      !write("stacks.txt",
             [&](auto& out) {
               return profiler::WriteFoldedStacks(*loaded, out);
             }) ||
      !write("report.html", [&](auto& out) {
        return profiler::WriteHtmlReport(*loaded, {}, out);
      })) {
    return Fail("export");
  }
  for (const profiler::Row& row : profiler::Table(*loaded, {})) {
    if (row.name == "load batch")
      std::printf("recorded %s %ld times\n", row.name.c_str(), long(row.calls));
  }
}
