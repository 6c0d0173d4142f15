#include "jit/reference/wire.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {

void WireReader::Bad(const std::string& why) const {
  FailArgument(what_, ": byte ", position(), ": ", why);
}

std::string_view WireReader::Take(uint64_t n) {
  if (n > bytes_.size() - at_) {
    Bad(absl::StrCat("the file ends here, ", n - (bytes_.size() - at_),
                     " bytes too early; it is truncated or no such file"));
  }
  const std::string_view out = bytes_.substr(at_, n);
  at_ += n;
  return out;
}

uint64_t WireReader::RawVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(Take(1)[0]);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  Bad("a number has more than 64 bits");
}

float WireReader::RawFloat() {
  float value;
  std::memcpy(&value, Take(sizeof value).data(), sizeof value);
  return value;
}

double WireReader::RawDouble() {
  double value;
  std::memcpy(&value, Take(sizeof value).data(), sizeof value);
  return value;
}

bool WireReader::Next() {
  if (AtEnd()) return false;
  const uint64_t tag = RawVarint();
  const uint64_t kind = tag & 7;
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) Bad("a field has no number");
  if (kind != kVarint && kind != kFixed64 && kind != kLength &&
      kind != kFixed32) {
    Bad(absl::StrCat("field ", tag >> 3, " is of kind ", kind,
                     ", which is not used; it is no such file"));
  }
  field_ = static_cast<int>(tag >> 3);
  kind_ = static_cast<Kind>(kind);
  return true;
}

void WireReader::Need(Kind kind) const {
  if (kind_ != kind) {
    Bad(absl::StrCat("field ", field_, " is of kind ", kind_, ", not ", kind));
  }
}

uint64_t WireReader::Varint() {
  Need(kVarint);
  return RawVarint();
}

float WireReader::Float() {
  Need(kFixed32);
  return RawFloat();
}

double WireReader::Double() {
  Need(kFixed64);
  return RawDouble();
}

std::string_view WireReader::Bytes() {
  Need(kLength);
  return Take(RawVarint());
}

WireReader WireReader::Message(const char* what) {
  const std::string_view inner = Bytes();
  return WireReader(inner, what, position() - inner.size());
}

void WireReader::Skip() {
  switch (kind_) {
    case kVarint:
      RawVarint();
      return;
    case kFixed64:
      Take(8);
      return;
    case kLength:
      Take(RawVarint());
      return;
    case kFixed32:
      Take(4);
      return;
  }
}

void WireWriter::Raw(uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes_.push_back(static_cast<char>(value | 0x80));
  }
  bytes_.push_back(static_cast<char>(value));
}

void WireWriter::Varint(int field, uint64_t value) {
  Raw(static_cast<uint64_t>(field) << 3);
  Raw(value);
}

void WireWriter::Float(int field, float value) {
  Raw(static_cast<uint64_t>(field) << 3 | 5);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void WireWriter::Double(int field, double value) {
  Raw(static_cast<uint64_t>(field) << 3 | 1);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void WireWriter::Bytes(int field, std::string_view value) {
  Raw(static_cast<uint64_t>(field) << 3 | 2);
  Raw(value.size());
  bytes_.append(value);
}

}  // namespace proa::inline v0::jit::reference
