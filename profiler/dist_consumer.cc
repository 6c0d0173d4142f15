// A program that vendors profiler/ alone.
#include <cstdio>

#include "profiler/events.h"

int main() {
  proa::profiler::Start();
  { proa::profiler::Range range("load batch"); }
  proa::profiler::Stop();
  for (const auto& e : proa::profiler::Collect().events) {
    std::printf("recorded %s\n", e.name);
  }
}
