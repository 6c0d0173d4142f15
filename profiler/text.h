// Text of exports: names of any bytes as valid UTF-8, JSON and HTML; numbers
// and times. Private to this room.
#ifndef PROA_PROFILER_TEXT_H_
#define PROA_PROFILER_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace proa::inline v0::profiler {

// `bytes` with everything that is not UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view bytes);
// The string as a JSON literal, quotes included. "<" and "&" are escaped too,
// so that it may stand inside of a script element of HTML and XML.
void AppendJson(std::string_view bytes, std::string* out);
// Escaped for HTML text and attributes.
std::string HtmlText(std::string_view bytes);

// A number as JSON has it; what is not finite becomes null.
void AppendJsonNumber(double value, std::string* out);
// "12.345": nanoseconds as microseconds.
void AppendMicroseconds(int64_t ns, std::string* out);
// With `digits` behind the point.
std::string Fixed(double value, int digits);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_TEXT_H_
