#include "fuzz/wire.h"

#include <algorithm>
#include <cstring>

namespace proa::inline v0::fuzz {
namespace {

constexpr int kMostDeep = 20;  // bytes that are a message by chance
const std::vector<uint64_t> kNumbers = {
    0,          1,          2,          3,          7,       127,
    1u << 31,   1u << 8,    0xFFFFFFFF, 1ull << 32, 1 << 16, 1ull << 62,
    ~0ull >> 1, 1ull << 63, ~0ull,      ~0ull - 1};

bool ReadVarint(std::string_view data, size_t& at, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift <= 63; shift += 7) {
    if (at >= data.size()) return false;
    const auto byte = static_cast<uint8_t>(data[at++]);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

void WriteVarint(uint64_t value, std::string& out) {
  for (; value > 127; value >>= 7)
    out.push_back(static_cast<char>((value & 127) | 128));
  out.push_back(static_cast<char>(value));
}

size_t WidthOf(WireType type) { return type == WireType::kFixed64 ? 8 : 4; }

std::optional<Message> Read(std::string_view data, int depth) {
  if (depth > kMostDeep) return std::nullopt;
  Message out;
  for (size_t at = 0; at < data.size();) {
    uint64_t tag = 0, value = 0;
    if (!ReadVarint(data, at, tag) || tag >> 3 == 0 || tag >> 35 != 0) {
      return std::nullopt;
    }
    Field f{static_cast<uint32_t>(tag >> 3),
            static_cast<WireType>(tag & 7),
            0,
            {},
            {}};
    switch (f.type) {
      case WireType::kVarint:
        if (!ReadVarint(data, at, f.value)) return std::nullopt;
        break;
      case WireType::kFixed32:
      case WireType::kFixed64:
        if (data.size() - at < WidthOf(f.type)) return std::nullopt;
        std::memcpy(&f.value, data.data() + at, WidthOf(f.type));
        at += WidthOf(f.type);
        break;
      case WireType::kBytes: {
        if (!ReadVarint(data, at, value) || value > data.size() - at) {
          return std::nullopt;
        }
        const std::string_view inner = data.substr(at, value);
        at += value;
        const bool text = std::ranges::all_of(
            inner, [](char c) { return c >= 32 && c < 127; });
        if (!text) f.fields = Read(inner, depth + 1);
        if (!f.fields.has_value()) f.bytes = inner;
        break;
      }
      default:
        return std::nullopt;
    }
    out.push_back(std::move(f));
  }
  return out;
}

void Write(const Message& message, std::string& out) {
  for (const Field& f : message) {
    WriteVarint(
        static_cast<uint64_t>(f.number) << 3 | static_cast<uint64_t>(f.type),
        out);
    if (f.type == WireType::kVarint) {
      WriteVarint(f.value, out);
    } else if (f.type != WireType::kBytes) {
      out.append(reinterpret_cast<const char*>(&f.value), WidthOf(f.type));
    } else {
      const std::string inner = f.fields ? WriteMessage(*f.fields) : f.bytes;
      WriteVarint(inner.size(), out);
      out += inner;
    }
  }
}

void AddMessages(Message& message, std::vector<Message*>& out) {
  if (!message.empty()) out.push_back(&message);
  for (Field& f : message) {
    if (f.fields) AddMessages(*f.fields, out);
  }
}

// Any message with the same chance, or one that fewer lie around: of the former
// nearly all are attributes of ops.
Message& Choose(Message& message, Random& random) {
  if (random.Percent(50)) {
    std::vector<Message*> all;
    AddMessages(message, all);
    return all.empty() ? message : *random.Of(all);
  }
  Message* at = &message;
  while (!at->empty() && random.Percent(75)) {
    Field& f = (*at)[random.Below(at->size())];
    if (!f.fields || f.fields->empty()) break;
    at = &*f.fields;
  }
  return *at;
}

void ChangeValue(Field& f, Random& random) {
  if (f.type == WireType::kBytes) {
    if (f.fields) return;
    f.bytes = ChangeBytes(std::move(f.bytes), random);
    return;
  }
  switch (random.Below(6)) {
    case 0:
      f.value ^= 1;
      break;
    case 1:
      f.value += 1 + random.Below(2);
      break;
    case 2:
      f.value -= 1 + random.Below(2);
      break;
    case 3:
      f.value ^= 1ull << random.Below(64);
      break;
    default:
      f.value = random.Of(kNumbers);
  }
}

}  // namespace

Random::Random(uint64_t seed, uint64_t number)
    : state_(seed * 0x9E3779B97F4A7C15u + number) {
  state_ = Next() ^ number;
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014).
uint64_t Random::Next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

std::optional<Message> ReadMessage(std::string_view bytes) {
  return Read(bytes, 0);
}

std::string WriteMessage(const Message& message) {
  std::string out;
  Write(message, out);
  return out;
}

void Pool::Add(const Message& message) {
  for (const Field& f : message) {
    fields_[{f.number, f.type}].push_back(&f);
    if (f.fields) Add(*f.fields);
  }
}

const Field* Pool::Find(const Field& like, Random& random) const {
  const auto at = fields_.find({like.number, like.type});
  return at == fields_.end() ? nullptr : random.Of(at->second);
}

void ChangeMessage(Message& message, const Pool& pool, Random& random) {
  Message& m = Choose(message, random);
  if (m.empty()) return;
  const size_t i = random.Below(m.size()), j = random.Below(m.size());
  const uint64_t what = random.Below(100);
  if (what < 40) {
    ChangeValue(m[i], random);
  } else if (what < 50) {
    m.erase(m.begin() + static_cast<int64_t>(i));
  } else if (what < 60) {
    // A copy first: a vector that grows moves what is in it.
    Field copy = m[i];
    m.insert(m.begin() + static_cast<int64_t>(j), std::move(copy));
  } else if (what < 68) {
    std::swap(m[i], m[j]);
  } else if (what < 78) {
    Pool own;
    own.Add(message);
    // A copy: a message that holds itself has no end.
    Field copy = *own.Find(m[i], random);
    m[i] = std::move(copy);
  } else if (what < 94) {
    if (const Field* other = pool.Find(m[i], random)) m[i] = *other;
  } else {
    m[i].number = static_cast<uint32_t>(1 + random.Below(20));
  }
}

std::string ChangeBytes(std::string bytes, Random& random) {
  const uint64_t changes = 1 + random.Below(4) / 2 * random.Below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t at = random.Below(bytes.size() + 1);
    switch (bytes.empty() ? 2 : random.Below(6)) {
      case 0:
        bytes[at % bytes.size()] = static_cast<char>(random.Next());
        break;
      case 1:
        bytes[at % bytes.size()] ^= static_cast<char>(1 << random.Below(8));
        break;
      case 2:
        bytes.insert(at, 1 + random.Below(9), static_cast<char>(random.Next()));
        break;
      case 3:
        bytes.erase(at, 1 + random.Below(random.Percent(20) ? 100000 : 8));
        break;
      default: {
        const uint64_t number = random.Of(kNumbers);
        const size_t width = size_t{1} << random.Below(4);
        if (at + width > bytes.size()) break;
        std::memcpy(bytes.data() + at, &number, width);
      }
    }
  }
  return bytes;
}

}  // namespace proa::inline v0::fuzz
