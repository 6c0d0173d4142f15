// CRC-32 (ISO-HDLC, that of zlib and PNG) of some bytes. Private to this room.
#ifndef PROA_PROFILER_CRC32_H_
#define PROA_PROFILER_CRC32_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace proa::inline v0::profiler {

inline uint32_t Crc32(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k)
        c = (c & 1) != 0 ? 0xEDB88320u ^ c >> 1 : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  }
  return ~crc;
}

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_CRC32_H_
