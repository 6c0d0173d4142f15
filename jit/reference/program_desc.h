// ProgramDesc: the programs that PaddlePaddle 1.x and 2.x saved (`__model__`,
// `.pdmodel`), as data: blocks of variables by name and of ops on them. Its
// public form is a protocol buffer; the numbers of the fields stand in
// program_desc.cc.
#ifndef PROA_JIT_REFERENCE_PROGRAM_DESC_H_
#define PROA_JIT_REFERENCE_PROGRAM_DESC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

namespace proa::inline v0::jit::reference {

// How the file numbers the kinds of attributes.
enum class AttributeKind : uint8_t {
  kInt = 0,
  kFloat = 1,
  kString = 2,
  kInts = 3,
  kFloats = 4,
  kStrings = 5,
  kBool = 6,
  kBools = 7,
  kBlock = 8,
  kLong = 9,
  kBlocks = 10,
  kLongs = 11,
  kFloat64s = 12,
  kVar = 13,
  kVars = 14,
  kFloat64 = 15,
  kScalar = 16,
  kScalars = 17,
};

struct AttributeDesc {
  AttributeKind kind = AttributeKind::kInt;
  // A bool, an integer (of a block: its number), a number, a text, or lists of
  // them.
  std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
               std::vector<double>, std::vector<std::string>>
      value;
  friend bool operator==(const AttributeDesc&, const AttributeDesc&) = default;
};
// "3", "[1, 2]", "'same'".
std::string ToString(const AttributeDesc& a);

using Slots = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct OpDesc {
  std::string type;
  Slots inputs;  // names of variables by slot: {"X", {"conv2d_0.tmp_0"}}
  Slots outputs;
  std::map<std::string, AttributeDesc> attributes;
};

// How the file numbers what is no element type of tensors.
enum class VarKind : uint8_t {
  kTensor = 7,
  kSelectedRows = 8,
  kFeed = 9,
  kFetch = 10,
  kStepScopes = 11,
  kRankTable = 12,
  kTensorArray = 13,
  kPlaces = 14,
  kReader = 15,
  kRaw = 17,
};

struct VarDesc {
  std::string name;
  VarKind kind = VarKind::kTensor;
  std::optional<DType> dtype;  // of the elements, if it is one of ours
  std::vector<int64_t> dims;   // -1: unknown
  int lod_level = 0;
  bool persistable = false;
  bool parameter = false;
  bool stop_gradient = false;
  bool need_check_feed = false;
};

struct BlockDesc {
  int parent = -1;
  std::vector<VarDesc> vars;
  std::vector<OpDesc> ops;
};

struct ProgramDesc {
  int64_t version = 0;  // 1000000 * major + 1000 * minor + patch, or 0
  std::vector<BlockDesc> blocks;
  std::map<std::string, int> op_versions;
};

// Throws Error: what is wrong, and at which byte.
ProgramDesc ParseProgramDesc(std::string_view bytes);
std::string SerializeProgramDesc(const ProgramDesc& program);

// The number of an element type in the files, and back; none if there is no
// such type.
std::optional<DType> DTypeOfCode(int64_t code);
int CodeOfDType(DType t);
// A TensorDesc: element type and dims.
struct TensorDesc {
  std::optional<DType> dtype;
  std::vector<int64_t> dims;
};
TensorDesc ParseTensorDesc(std::string_view bytes, size_t start);
std::string SerializeTensorDesc(const TensorDesc& t);

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_PROGRAM_DESC_H_
