// The wire format of protocol buffers, read and written field by field: what a
// message means stands with its reader (program_desc.cc). Nothing is trusted:
// each length is checked against the bytes that are there.
//
//   WireReader r(bytes, "program");
//   while (r.Next()) {
//     if (r.field() == 1) name = r.Bytes();
//     else r.Skip();
//   }
#ifndef PROA_JIT_REFERENCE_WIRE_H_
#define PROA_JIT_REFERENCE_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace proa::inline v0::jit::reference {

// Errors are Error kInvalidArgument: "program: byte 17: the field ends behind
// the end of the file".
class WireReader {
 public:
  // `what` names the bytes in errors; `start` is where they begin in the file.
  explicit WireReader(std::string_view bytes, const char* what,
                      size_t start = 0)
      : bytes_(bytes), what_(what), start_(start) {}

  // Goes to the next field; false behind the last one. What was there must have
  // been taken.
  bool Next();
  int field() const { return field_; }

  // The value of the field; an error if it is of another kind.
  uint64_t Varint();
  int64_t Int() { return static_cast<int64_t>(Varint()); }
  bool Bool() { return Varint() != 0; }
  float Float();
  double Double();
  std::string_view Bytes();
  // A message within: its reader.
  WireReader Message(const char* what);
  void Skip();

  // A repeated number, packed or not: calls `take` for each.
  template <typename F>
  void EachInt(F take) {
    if (kind_ != kLength) return take(Int());
    for (WireReader r = Message(what_); !r.AtEnd();) {
      take(static_cast<int64_t>(r.RawVarint()));
    }
  }
  template <typename F>
  void EachFloat(F take) {
    if (kind_ != kLength) return take(Float());
    for (WireReader r = Message(what_); !r.AtEnd();) take(r.RawFloat());
  }
  template <typename F>
  void EachDouble(F take) {
    if (kind_ != kLength) return take(Double());
    for (WireReader r = Message(what_); !r.AtEnd();) take(r.RawDouble());
  }

  bool AtEnd() const { return at_ == bytes_.size(); }
  size_t position() const { return start_ + at_; }
  [[noreturn]] void Bad(const std::string& why) const;

 private:
  enum Kind { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

  void Need(Kind kind) const;
  uint64_t RawVarint();
  float RawFloat();
  double RawDouble();
  std::string_view Take(uint64_t n);

  std::string_view bytes_;
  const char* what_;
  size_t start_;
  size_t at_ = 0;
  int field_ = 0;
  Kind kind_ = kVarint;
};

class WireWriter {
 public:
  void Varint(int field, uint64_t value);
  void Int(int field, int64_t value) {
    Varint(field, static_cast<uint64_t>(value));
  }
  void Float(int field, float value);
  void Double(int field, double value);
  void Bytes(int field, std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  void Raw(uint64_t value);

  std::string bytes_;
};

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_WIRE_H_
