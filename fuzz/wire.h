// Protocol buffers as trees, without their definition: read, changed at random,
// written again. What wire.py does, for programs that make millions of them.
#ifndef PROA_FUZZ_WIRE_H_
#define PROA_FUZZ_WIRE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace proa::inline v0::fuzz {

// Random numbers that follow from a seed and a number alone.
class Random {
 public:
  Random(uint64_t seed, uint64_t number);

  uint64_t Next();
  // Below `n`; 0 if that is 0.
  uint64_t Below(uint64_t n) { return n == 0 ? 0 : Next() % n; }
  bool Percent(uint64_t n) { return Below(100) < n; }
  template <typename T>
  const T& Of(const std::vector<T>& list) {
    return list[Below(list.size())];
  }

 private:
  uint64_t state_;
};

struct Field;
using Message = std::vector<Field>;

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number;
  WireType type;
  uint64_t value = 0;             // of all types but kBytes
  std::string bytes;              // of kBytes that are no message
  std::optional<Message> fields;  // of those that read as one
};

// Nothing if the bytes are no message. Bytes in it that can be printed are
// texts, even where they would read as a message by chance.
std::optional<Message> ReadMessage(std::string_view bytes);
std::string WriteMessage(const Message& message);

// Fields of right messages, by number and type: what a wrong one may take.
class Pool {
 public:
  void Add(const Message& message);
  // Null if none is known.
  const Field* Find(const Field& like, Random& random) const;

 private:
  std::map<std::pair<uint32_t, WireType>, std::vector<const Field*>> fields_;
};

// One change at a random place: a number, a text, a field taken away, doubled,
// moved, or become another one of the message or of `pool`.
void ChangeMessage(Message& message, const Pool& pool, Random& random);

// Bytes exchanged, put in, taken away, and numbers written over.
std::string ChangeBytes(std::string bytes, Random& random);

}  // namespace proa::inline v0::fuzz

#endif  // PROA_FUZZ_WIRE_H_
