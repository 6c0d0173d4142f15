// Texts and traces made from recordings. That they are what other programs read
// is tested with independent readers in python/tests/profiler_test.py.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <string_view>
#include <vector>

#include "profiler/chrome_trace.h"
#include "profiler/folded_stacks.h"
#include "profiler/html_report.h"
#include "profiler/merge.h"
#include "profiler/output.h"
#include "profiler/perfetto.h"
#include "profiler/recording.h"
#include "profiler/summary.h"
#include "profiler/testing_recording.h"
#include "profiler/text.h"

namespace proa::inline v0::profiler {
namespace {

using testing::MakeRange;
using testing::MakeRecording;
using testing::MakeTraining;

template <typename F>
std::string TextOf(F&& write) {
  std::string text;
  const auto out = Output::ToString(&text);
  EXPECT_TRUE(write(*out).ok());
  EXPECT_TRUE(out->Close().ok());
  return text;
}

std::string Chrome(const Recording& r, const ChromeTraceOptions& o = {}) {
  return TextOf([&](Output& out) { return WriteChromeTrace(r, o, out); });
}

int Count(std::string_view text, std::string_view part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++n;
  }
  return n;
}

TEST(ChromeTraceTest, EachKindOfEvent) {
  const std::string text = Chrome(MakeTraining());
  EXPECT_NE(
      text.find("{\"ph\":\"X\",\"name\":\"linear\",\"cat\":\"op\",\"ts\":1.000,"
                "\"pid\":77,\"tid\":100,\"dur\":2.000,\"args\":{\"path\":"
                "\"net.fc\",\"correlation\":41,\"shapes\":\"[2, 3] float32\","
                "\"source\":\"train.py:12\",\"flops\":4000,\"bytes\":1000}}"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":77,\"tid\":101,"
                "\"args\":{\"name\":\"worker 1\"}}"),
      std::string::npos);
  EXPECT_NE(
      text.find("\"name\":\"loss\",\"cat\":\"user\",\"ts\":8.600,\"pid\":77,"
                "\"tid\":100,\"args\":{\"value\":0.25}"),
      std::string::npos);
  EXPECT_EQ(Count(text, "\"ph\":\"X\""), 9);
  for (const char* once : {"i", "s", "f", "b", "e"}) {
    EXPECT_EQ(Count(text, std::string("\"ph\":\"") + once + "\""), 1) << once;
  }
  EXPECT_EQ(Count(text, "\"ph\":\"C\""), 4);
}

TEST(ChromeTraceTest, ABoundedTraceIsStillWhole) {
  Recording r = MakeRecording();
  for (int i = 0; i < 1000; ++i) {
    r.events.push_back(MakeRange("event", "c", 1000 + i, 1001 + i));
  }
  const std::string text = Chrome(r, {.max_bytes = 20000});
  EXPECT_LE(text.size(), 20000u);
  EXPECT_GT(Count(text, "\"ph\":\"X\""), 100);
  EXPECT_EQ(Count(text, "\"left_out_events\":\"0\""), 0);
  EXPECT_EQ(text.substr(text.size() - 4), "\"}}\n");
  std::string ignored;
  EXPECT_EQ(WriteChromeTrace(r, {.max_bytes = 10}, *Output::ToString(&ignored))
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// 10^6 events leave by way of a file; memory does not grow with them.
TEST(ChromeTraceTest, ExportsInBoundedMemory) {
  Recording r = MakeRecording();
  constexpr int kEvents = 1'000'000;
  r.events.reserve(kEvents);
  for (int i = 0; i < kEvents; ++i) {
    r.events.push_back(MakeRange("event", "c", 1000 + i * 10, 1005 + i * 10));
  }
  const auto peak_kib = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  [[maybe_unused]] const int64_t before = peak_kib();
  for (const bool gzip : {false, true}) {
    EXPECT_TRUE(WriteFile("/dev/null", gzip, [&](Output& out) {
                  const absl::Status s = WriteChromeTrace(r, {}, out);
                  EXPECT_GT(out.size(), int64_t{kEvents} * 60);
                  return s;
                }).ok());
  }
  EXPECT_TRUE(WriteFile("/dev/null", false, [&](Output& out) {
                return WritePerfettoTrace(r, out);
              }).ok());
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what is freed for a while
  EXPECT_LT(peak_kib() - before, 16 << 10);
#endif
}

TEST(ExportsTest, NamesOfAnyBytesGiveValidTexts) {
  std::string name;
  for (int c = 1; c < 256; ++c) name.push_back(static_cast<char>(c));
  name += "\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xE2\x82</script>\\\"";
  const Details details{.shapes = name.c_str(), .source = name.c_str()};
  Recording r = MakeRecording();
  r.threads[0].name = r.processes[0].name = r.processes[0].host = name;
  Event e = MakeRange(name.c_str(), name.c_str(), 2000, 900000);
  e.path = name.c_str();
  e.details = &details;
  r.events.push_back(e);
  for (const EventKind kind : {EventKind::kAsync, EventKind::kInstant,
                               EventKind::kCounter, EventKind::kAllocate}) {
    e.kind = kind;
    r.events.push_back(e);
  }
  const std::string texts[] = {
      TextOf([&](Output& out) { return WriteChromeTrace(r, {}, out); }),
      TextOf([&](Output& out) { return WriteFoldedStacks(r, out); }),
      TextOf([&](Output& out) { return WriteHtmlReport(r, {}, out); }),
      Summary(r, {})};
  for (const std::string& text : texts) {
    EXPECT_EQ(ValidUtf8(text), text);
    EXPECT_EQ(text.find('\x01'), std::string::npos);
    EXPECT_GT(text.size(), 20u) << text;
  }
  EXPECT_EQ(texts[1].find('\n'), texts[1].size() - 1);  // one line
  EXPECT_FALSE(
      TextOf([&](Output& out) { return WritePerfettoTrace(r, out); }).empty());
}

TEST(ChromeTraceTest, StopsAtAFullDisk) {
  EXPECT_EQ(WriteFile("/dev/full", true,
                      [](Output& out) {
                        return WriteChromeTrace(MakeTraining(), {}, out);
                      })
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(FoldedStacksTest, SelfTimesByStack) {
  Recording r = MakeRecording(2);
  r.events = {MakeRange("a;b", "c", 0, 10'000'000),
              MakeRange("d\n", "c", 1'000'000, 3'000'000),
              MakeRange("short", "c", 4'000'000, 4'000'100),
              MakeRange("x", "c", 0, 5'000'000, 1)};
  const std::string text =
      TextOf([&](Output& out) { return WriteFoldedStacks(r, out); });
  EXPECT_EQ(text,
            "worker 0;a_b 8000\n"
            "worker 0;a_b;d_ 2000\n"
            "worker 1;x 5000\n");
}

TEST(SummaryTest, Tables) {
  Recording r = MakeTraining();
  r.roof = {10, 5};
  r.dropped = 4;
  const std::string text = Summary(r, {.time_unit = "us"});
  for (const char* part :
       {"Recorded 10.000 us: 17 events of 2 threads, 4 dropped", "Operators",
        "Layers", "net.fc", "linear_grad", "gpu:0 queue 7", "GFLOP/s", "roof %",
        "train.py:12", "ProfileStep#0", "9.00 KiB", "[2, 3] float32"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  // linear: 2 us, 4000 flops: 2 GFLOP/s, a fifth of what there is.
  const size_t at = text.find("\nlinear ");
  const std::string line =
      text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  EXPECT_NE(line.find("2.000"), std::string::npos) << line;
  EXPECT_NE(line.find("20.00"), std::string::npos) << line;
  const std::string ops = Summary(r, {.shapes = false, .views = kOpView});
  EXPECT_EQ(ops.find("Layers"), std::string::npos);
  EXPECT_EQ(ops.find("float32"), std::string::npos);
  EXPECT_NE(Summary(r, {.by_thread = true}).find("thread 1 (worker 1)"),
            std::string::npos);
}

TEST(SummaryTest, Orders) {
  Recording r = MakeRecording();
  r.events = {MakeRange("often", "op", 0, 10), MakeRange("often", "op", 10, 20),
              MakeRange("often", "op", 20, 30),
              MakeRange("long", "op", 30, 50)};
  const auto first = [&](SortedBy by) {
    const std::string text = Summary(r, {.sorted_by = by, .views = kOpView});
    return text.find("\noften") < text.find("\nlong") ? "often" : "long";
  };
  EXPECT_STREQ(first(SortedBy::kTotal), "often");
  EXPECT_STREQ(first(SortedBy::kAverage), "long");
  EXPECT_STREQ(first(SortedBy::kMax), "long");
  EXPECT_STREQ(first(SortedBy::kMin), "long");
  EXPECT_STREQ(first(SortedBy::kCalls), "often");
}

TEST(SummaryTest, LongTablesAndNames) {
  Recording r = MakeRecording();
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    names.push_back(std::string(100, 'x') + "\xC3\xA9\xFF\n" +
                    std::to_string(i));
  }
  for (int i = 0; i < 60; ++i) {
    r.events.push_back(MakeRange(names[i].c_str(), "op", i * 10, i * 10 + 5));
  }
  const std::string text = Summary(r, {.views = kOpView});
  EXPECT_NE(text.find("(20 more)"), std::string::npos);
  EXPECT_NE(text.find("xx...xx"), std::string::npos) << text;
  EXPECT_EQ(Summary(Recording(), {}).find("Operators"), std::string::npos);
}

TEST(HtmlReportTest, HoldsTheDataAndNothingFromElsewhere) {
  Recording r = MakeTraining();
  r.threads[1].name = "</script><b>&\x01\xFF";
  const std::string html =
      TextOf([&](Output& out) { return WriteHtmlReport(r, {}, out); });
  EXPECT_EQ(Count(html, "</script>"), 2);
  EXPECT_EQ(Count(html, "<script"), 2);
  EXPECT_EQ(Count(html, "src="), 0);
  EXPECT_EQ(Count(html, "href="), 0);
  EXPECT_EQ(Count(html, "http"), 1);  // the name of the XML namespace
  EXPECT_NE(html.find("\"duration\":10000"), std::string::npos);
  EXPECT_NE(html.find("[2000,8192],[6000,9216],[8700,5120]"),
            std::string::npos);
  EXPECT_NE(html.find("<td>net.fc</td>"), std::string::npos);
}

TEST(HtmlReportTest, ManyEventsAreThinnedOut) {
  Recording r = MakeRecording();
  for (int i = 0; i < 5000; ++i) {
    r.events.push_back(MakeRange("e", "c", i * 10, i * 10 + 1 + i % 9));
    Event memory = MakeRange("tensor", "cpu", i * 10, i * 10);
    memory.kind = EventKind::kAllocate;
    memory.total = i == 2500 ? 1e9 : 1;
    r.events.push_back(memory);
  }
  testing::Sort(&r);
  const std::string html = TextOf([&](Output& out) {
    return WriteHtmlReport(r, {.max_ranges = 100, .max_memory_points = 50},
                           out);
  });
  EXPECT_LT(html.size(), 20000u);
  EXPECT_NE(html.find("1000000000"), std::string::npos);  // the peak stays
}

TEST(MergeTest, OneMachine) {
  Recording a = MakeTraining(), b = MakeTraining();
  a.processes[0].boot = b.processes[0].boot = "x";
  b.processes[0].system_id = 78;
  b.start_ns = 500;
  const Recording m = Merge({a, b});
  EXPECT_EQ(m.processes.size(), 2u);
  EXPECT_EQ(m.threads.size(), 6u);
  EXPECT_EQ(m.threads[4].process, 1u);
  EXPECT_EQ(m.events.size(), a.events.size() * 2);
  EXPECT_EQ(m.start_ns, 500);
  EXPECT_EQ(m.events[0].start_ns, 1000);
  // Layers of both have their backward.
  const std::string text = Chrome(m);
  EXPECT_EQ(Count(text, "\"pid\":78"), Count(text, "\"pid\":77"));
}

TEST(MergeTest, MachinesAreAlignedByTheCalendar) {
  Recording a = MakeRecording(), b = MakeRecording();
  a.events = {MakeRange("a", "c", 1000, 2000)};
  b.events = {MakeRange("b", "c", 501000, 502000)};
  a.processes[0].wall_offset_ns = 1'000'000;
  b.processes[0].wall_offset_ns = 501'000;
  b.processes[0].host = "other";
  const Recording m = Merge({a, b});
  EXPECT_EQ(m.events[1].start_ns, 501000 - 499000);
  EXPECT_EQ(m.processes[1].wall_offset_ns, 1'000'000);
  EXPECT_TRUE(Merge({}).events.empty());
}

}  // namespace
}  // namespace proa::inline v0::profiler
