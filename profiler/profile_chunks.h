// What the two halves of profile files agree on. Private to this room.
#ifndef PROA_PROFILER_PROFILE_CHUNKS_H_
#define PROA_PROFILER_PROFILE_CHUNKS_H_

#include <cstdint>
#include <string_view>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

inline constexpr std::string_view kProfileMagic = "PROAPROF";

enum class ChunkKind : uint32_t { kHeader = 1, kEvents = 2, kEnd = 3 };

// Kinds of events that have a value, and a total.
inline bool HasTotal(EventKind kind) {
  return kind == EventKind::kAllocate || kind == EventKind::kFree;
}
inline bool HasValue(EventKind kind) {
  return kind == EventKind::kCounter || HasTotal(kind);
}

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_PROFILE_CHUNKS_H_
