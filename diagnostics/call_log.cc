#include "diagnostics/call_log.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ops/call_site.h"
#include "ops/definition.h"
#include "ops/kernel_used.h"
#include "ops/observers.h"
#include "ops/value.h"
#include "tensor/interpreters.h"

namespace proa::inline v0 {
namespace {

constinit std::atomic<int64_t> calls{0};

std::string ArgumentsText(const ObservedCall& call) {
  std::string text;
  for (size_t i = 0; i < call.args.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", call.op.params[i].name, "=",
                    ToString(call.args[i]));
  }
  return text;
}

std::string ResultsText(std::span<const Value> results) {
  std::string text;
  for (const Value& v : results) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", ToString(v));
  }
  return text.empty() ? "nothing" : text;
}

std::string Names(Interpreters active) {
  std::string text;
  const auto add = [&](Interpreters bit, const char* name) {
    if ((active & bit) == 0) return;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name);
  };
  add(kAutocast, "autocast");
  add(kDifferentiate, "differentiate");
  add(kRecord, "record");
  return text.empty() ? "execute" : text;
}

void Write(const std::string& line) {
  // One write, so that lines of several threads do not mix.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line.data(), line.size());
}

void Log(ObservedCall& call) {
  using Clock = std::chrono::steady_clock;
  const int64_t number = calls.fetch_add(1, std::memory_order_relaxed);
  const Interpreters active = call.interpreters();
  // Before the call, which may change them.
  std::string head = absl::StrCat("[op ", number, "] ", call.op.name, "(",
                                  ArgumentsText(call), ") -> ");
  const std::string site = CallSite();
  KernelProbe probe(call.op);
  const auto start = Clock::now();
  const auto end_line = [&](const std::string& results, const char* kernel) {
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    absl::StrAppend(&head, results, " | ", Names(active), " | ", kernel, " | ",
                    absl::StrFormat("%.1f us", time.count()),
                    site.empty() ? "" : " | ", site, "\n");
    Write(head);
  };
  try {
    call.Proceed();
  } catch (...) {
    end_line("failed", "-");
    throw;
  }
  end_line(ResultsText(call.results),
           (active & kRecord) != 0 ? "recorded" : probe.implementation());
}

const bool installed = [] {
  InstallObserver(Observer::kCallLog, &Log);
  return true;
}();

}  // namespace

void SetCallLog(bool on) { SetObserver(Observer::kCallLog, on); }

}  // namespace proa::inline v0
