#include "profiler/text.h"

#include <cmath>
#include <cstdio>

namespace proa::inline v0::profiler {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool Continues(unsigned char c) { return (c & 0xC0) == 0x80; }

// Length of the UTF-8 sequence that `s` begins with, 0 if it is none: overlong
// forms, surrogates and what lies beyond U+10FFFF are none.
size_t SequenceLength(std::string_view s) {
  const auto at = [&](size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0;
  };
  const unsigned char a = at(0), b = at(1);
  if (a < 0x80) return 1;
  if (a < 0xC2 || a > 0xF4 || !Continues(b)) return 0;
  if (a < 0xE0) return 2;
  if (a < 0xF0) {
    if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F)) return 0;
    return Continues(at(2)) ? 3 : 0;
  }
  if ((a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F)) return 0;
  return Continues(at(2)) && Continues(at(3)) ? 4 : 0;
}

// Calls `f` with each character of the text.
template <typename F>
void ForEachCharacter(std::string_view bytes, F&& f) {
  while (!bytes.empty()) {
    const size_t n = SequenceLength(bytes);
    f(n == 0 ? kReplacement : bytes.substr(0, n));
    bytes.remove_prefix(n == 0 ? 1 : n);
  }
}

void AppendJsonCharacter(std::string_view c, std::string* out) {
  const unsigned char first = static_cast<unsigned char>(c[0]);
  switch (first) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    default:
      break;
  }
  if (first < 0x20 || first == 0x7F || first == '<' || first == '&') {
    char text[8];
    std::snprintf(text, sizeof(text), "\\u%04x", first);
    *out += text;
  } else {
    out->append(c);
  }
}

}  // namespace

std::string ValidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  ForEachCharacter(bytes, [&](std::string_view c) { out.append(c); });
  return out;
}

void AppendJson(std::string_view bytes, std::string* out) {
  out->push_back('"');
  ForEachCharacter(bytes,
                   [&](std::string_view c) { AppendJsonCharacter(c, out); });
  out->push_back('"');
}

std::string HtmlText(std::string_view bytes) {
  std::string out;
  ForEachCharacter(bytes, [&](std::string_view c) {
    switch (c[0]) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Control characters are not allowed in HTML.
        out.append(static_cast<unsigned char>(c[0]) < 0x20 ? kReplacement : c);
    }
  });
  return out;
}

void AppendJsonNumber(double value, std::string* out) {
  if (!std::isfinite(value)) {
    *out += "null";
    return;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  *out += text;
}

void AppendMicroseconds(int64_t ns, std::string* out) {
  char text[32];
  const uint64_t size =
      ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  std::snprintf(text, sizeof(text), "%s%llu.%03llu", ns < 0 ? "-" : "",
                static_cast<unsigned long long>(size / 1000),
                static_cast<unsigned long long>(size % 1000));
  *out += text;
}

std::string Fixed(double value, int digits) {
  char text[400];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace proa::inline v0::profiler
