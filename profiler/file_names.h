// Names of the files that stand beside one that is being written. Internal to
// atomic_file. With S the file's name, shortened if it is long:
//
//   .S.<random>.tmp  contents that are not complete
//   .S.<key>.new     a member of several files, complete, waiting for its name
//   .S.lock          held while several files are committed
#ifndef PROA_PROFILER_FILE_NAMES_H_
#define PROA_PROFILER_FILE_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace proa::inline v0::profiler {

inline constexpr size_t kRandomLetters = 8;

// The part behind the last slash.
inline std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Short enough for what is put around it, on file systems whose names end at
// 143 bytes too; long names differ in their hash (FNV-1a).
inline std::string Stem(const std::string& name) {
  constexpr size_t kMax = 80, kKept = 60;
  if (name.size() <= kMax) return "." + name + ".";
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  std::string digits;
  for (int i = 0; i < 16; ++i) {
    digits.push_back("0123456789abcdef"[hash >> 4 * i & 15]);
  }
  size_t kept = kKept;
  while (kept > 0 && (name[kept] & 0xC0) == 0x80) --kept;  // whole characters
  return "." + name.substr(0, kept) + "~" + digits + ".";
}

inline std::string TemporaryName(const std::string& name,
                                 const std::string& letters) {
  return Stem(name) + letters + ".tmp";
}
inline std::string StagedName(const std::string& name, const std::string& key) {
  return Stem(name) + key + ".new";
}
inline std::string LockName(const std::string& name) {
  return Stem(name) + "lock";
}

namespace file_names_internal {
// What stands between stem and ending, or nothing.
inline std::string_view Between(const std::string& stem, std::string_view found,
                                std::string_view ending) {
  if (found.size() < stem.size() + ending.size()) return {};
  if (found.substr(0, stem.size()) != stem) return {};
  found.remove_prefix(stem.size());
  if (found.substr(found.size() - ending.size()) != ending) return {};
  found.remove_suffix(ending.size());
  return found.find('.') == std::string_view::npos ? found : "";
}
}  // namespace file_names_internal

inline bool IsTemporaryOf(const std::string& name, std::string_view found) {
  return file_names_internal::Between(Stem(name), found, ".tmp").size() ==
         kRandomLetters;
}
inline bool IsStagedOf(const std::string& name, std::string_view found) {
  return !file_names_internal::Between(Stem(name), found, ".new").empty();
}

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_FILE_NAMES_H_
