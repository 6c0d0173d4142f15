#include "jit/reference/program_desc.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/reference/wire.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

constexpr size_t kMaxBlocks = 1u << 16;

constexpr std::pair<int, DType> kCodes[] = {
    {0, DType::kBool},      {1, DType::kInt16},      {2, DType::kInt32},
    {3, DType::kInt64},     {4, DType::kFloat16},    {5, DType::kFloat32},
    {6, DType::kFloat64},   {20, DType::kUInt8},     {21, DType::kInt8},
    {22, DType::kBFloat16}, {23, DType::kComplex64}, {24, DType::kComplex128}};

// Scalar { type = 1, b = 2, i = 3, r = 4, c = 5 }; complex ones are refused.
std::variant<bool, int64_t, double> ReadScalar(WireReader r) {
  std::variant<bool, int64_t, double> out = false;
  while (r.Next()) {
    switch (r.field()) {
      case 2:
        out = r.Bool();
        break;
      case 3:
        out = r.Int();
        break;
      case 4:
        out = r.Double();
        break;
      case 5:
        r.Bad("complex attributes are not supported");
      default:
        r.Skip();
    }
  }
  return out;
}

double AsDouble(const std::variant<bool, int64_t, double>& v) {
  return std::visit([](auto x) { return static_cast<double>(x); }, v);
}

// OpDesc.Attr: one field for each kind of value.
std::pair<std::string, AttributeDesc> ReadAttribute(WireReader r) {
  std::string name;
  AttributeDesc a;
  int64_t kind = -1;
  bool b = false;
  int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::variant<bool, int64_t, double> scalar = false;
  while (r.Next()) {
    switch (r.field()) {
      case 1:
        name = r.Bytes();
        break;
      case 2:
        kind = r.Int();
        break;
      case 3:   // i
      case 12:  // block_idx
      case 13:  // l
        i = r.Int();
        break;
      case 4:
        f = r.Float();
        break;
      case 19:
        f = r.Double();
        break;
      case 5:   // s
      case 17:  // var_name
        s = r.Bytes();
        break;
      case 6:   // ints
      case 11:  // bools
      case 14:  // blocks_idx
      case 15:  // longs
        r.EachInt([&](int64_t v) { ints.push_back(v); });
        break;
      case 7:
        r.EachFloat([&](float v) { floats.push_back(v); });
        break;
      case 16:
        r.EachDouble([&](double v) { floats.push_back(v); });
        break;
      case 8:   // strings
      case 18:  // vars_name
        strings.emplace_back(r.Bytes());
        break;
      case 10:
        b = r.Bool();
        break;
      case 20:
        scalar = ReadScalar(r.Message("scalar"));
        break;
      case 21:
        floats.push_back(AsDouble(ReadScalar(r.Message("scalar"))));
        break;
      default:
        r.Skip();
    }
  }
  if (kind < 0 || kind > 17) r.Bad("an attribute is of an unknown kind");
  a.kind = static_cast<AttributeKind>(kind);
  switch (a.kind) {
    case AttributeKind::kInt:
    case AttributeKind::kLong:
    case AttributeKind::kBlock:
      a.value = i;
      break;
    case AttributeKind::kFloat:
    case AttributeKind::kFloat64:
      a.value = f;
      break;
    case AttributeKind::kString:
    case AttributeKind::kVar:
      a.value = std::move(s);
      break;
    case AttributeKind::kInts:
    case AttributeKind::kBools:
    case AttributeKind::kBlocks:
    case AttributeKind::kLongs:
      a.value = std::move(ints);
      break;
    case AttributeKind::kFloats:
    case AttributeKind::kFloat64s:
    case AttributeKind::kScalars:
      a.value = std::move(floats);
      break;
    case AttributeKind::kStrings:
    case AttributeKind::kVars:
      a.value = std::move(strings);
      break;
    case AttributeKind::kBool:
      a.value = b;
      break;
    case AttributeKind::kScalar:
      std::visit([&](auto v) { a.value = v; }, scalar);
      break;
  }
  return {std::move(name), std::move(a)};
}

void ReadSlot(WireReader r, Slots& slots) {
  std::pair<std::string, std::vector<std::string>> slot;
  while (r.Next()) {
    if (r.field() == 1) {
      slot.first = r.Bytes();
    } else if (r.field() == 2) {
      slot.second.emplace_back(r.Bytes());
    } else {
      r.Skip();
    }
  }
  slots.push_back(std::move(slot));
}

OpDesc ReadOp(WireReader r) {
  OpDesc op;
  while (r.Next()) {
    switch (r.field()) {
      case 1:
        ReadSlot(r.Message("input of an op"), op.inputs);
        break;
      case 2:
        ReadSlot(r.Message("output of an op"), op.outputs);
        break;
      case 3:
        op.type = r.Bytes();
        break;
      case 4:
        op.attributes.insert(ReadAttribute(r.Message("attribute")));
        break;
      default:
        r.Skip();
    }
  }
  if (op.type.empty()) r.Bad("an op has no type");
  return op;
}

TensorDesc ReadTensorDesc(WireReader r) {
  TensorDesc t;
  while (r.Next()) {
    if (r.field() == 1) {
      t.dtype = DTypeOfCode(r.Int());
    } else if (r.field() == 2) {
      r.EachInt([&](int64_t d) { t.dims.push_back(d); });
    } else {
      r.Skip();
    }
  }
  return t;
}

// VarType: selected_rows = 2 is a TensorDesc, lod_tensor = 3 and tensor_array =
// 4 hold one and a level.
void ReadVarType(WireReader r, VarDesc& v) {
  while (r.Next()) {
    switch (r.field()) {
      case 1:
        v.kind = static_cast<VarKind>(std::clamp<int64_t>(r.Int(), 0, 255));
        break;
      case 2: {
        TensorDesc t = ReadTensorDesc(r.Message("type of rows"));
        v.dtype = t.dtype;
        v.dims = std::move(t.dims);
        break;
      }
      case 3:
      case 4: {
        WireReader inner = r.Message("type of a tensor");
        while (inner.Next()) {
          if (inner.field() == 1) {
            TensorDesc t = ReadTensorDesc(inner.Message("type of a tensor"));
            v.dtype = t.dtype;
            v.dims = std::move(t.dims);
          } else if (inner.field() == 2) {
            v.lod_level =
                static_cast<int>(std::clamp<int64_t>(inner.Int(), 0, 99));
          } else {
            inner.Skip();
          }
        }
        break;
      }
      default:
        r.Skip();
    }
  }
}

VarDesc ReadVar(WireReader r) {
  VarDesc v;
  while (r.Next()) {
    switch (r.field()) {
      case 1:
        v.name = r.Bytes();
        break;
      case 2:
        ReadVarType(r.Message("type of a variable"), v);
        break;
      case 3:
        v.persistable = r.Bool();
        break;
      case 4:
        v.need_check_feed = r.Bool();
        break;
      case 5:
        v.parameter = r.Bool();
        break;
      case 6:
        v.stop_gradient = r.Bool();
        break;
      default:
        r.Skip();
    }
  }
  return v;
}

BlockDesc ReadBlock(WireReader r, int64_t expected) {
  BlockDesc b;
  int64_t index = expected;
  while (r.Next()) {
    switch (r.field()) {
      case 1:
        index = r.Int();
        break;
      case 2:
        b.parent = static_cast<int>(
            std::clamp<int64_t>(r.Int(), -1, static_cast<int64_t>(kMaxBlocks)));
        break;
      case 3:
        b.vars.push_back(ReadVar(r.Message("variable")));
        break;
      case 4:
        b.ops.push_back(ReadOp(r.Message("op")));
        break;
      default:
        r.Skip();
    }
  }
  if (index != expected) {
    r.Bad(absl::StrCat("block ", expected, " says that it is block ", index));
  }
  if (b.parent >= expected) {
    r.Bad(absl::StrCat("block ", expected, " lies in block ", b.parent,
                       ", which comes later"));
  }
  return b;
}

void ReadOpVersions(WireReader r, std::map<std::string, int>& out) {
  while (r.Next()) {
    if (r.field() != 1) {
      r.Skip();
      continue;
    }
    std::string name;
    int version = 0;
    for (WireReader pair = r.Message("version of an op"); pair.Next();) {
      if (pair.field() == 1) {
        name = pair.Bytes();
      } else if (pair.field() == 2) {
        for (WireReader v = pair.Message("version"); v.Next();) {
          if (v.field() == 1) {
            version = static_cast<int>(v.Int());
          } else {
            v.Skip();
          }
        }
      } else {
        pair.Skip();
      }
    }
    out[name] = version;
  }
}

void WriteSlots(WireWriter& out, int field, const Slots& slots) {
  for (const auto& [name, arguments] : slots) {
    WireWriter w;
    w.Bytes(1, name);
    for (const std::string& a : arguments) w.Bytes(2, a);
    out.Bytes(field, w.bytes());
  }
}

std::string WriteAttribute(const std::string& name, const AttributeDesc& a) {
  WireWriter w;
  w.Bytes(1, name);
  w.Int(2, static_cast<int>(a.kind));
  const auto ints = [&](int field) {
    for (int64_t v : std::get<std::vector<int64_t>>(a.value)) w.Int(field, v);
  };
  switch (a.kind) {
    case AttributeKind::kInt:
      w.Int(3, std::get<int64_t>(a.value));
      break;
    case AttributeKind::kFloat:
      w.Float(4, static_cast<float>(std::get<double>(a.value)));
      break;
    case AttributeKind::kString:
      w.Bytes(5, std::get<std::string>(a.value));
      break;
    case AttributeKind::kInts:
      ints(6);
      break;
    case AttributeKind::kFloats:
      for (double v : std::get<std::vector<double>>(a.value)) {
        w.Float(7, static_cast<float>(v));
      }
      break;
    case AttributeKind::kStrings:
      for (const auto& v : std::get<std::vector<std::string>>(a.value)) {
        w.Bytes(8, v);
      }
      break;
    case AttributeKind::kBool:
      w.Int(10, std::get<bool>(a.value));
      break;
    case AttributeKind::kBools:
      ints(11);
      break;
    case AttributeKind::kBlock:
      w.Int(12, std::get<int64_t>(a.value));
      break;
    case AttributeKind::kLong:
      w.Int(13, std::get<int64_t>(a.value));
      break;
    case AttributeKind::kLongs:
      ints(15);
      break;
    case AttributeKind::kFloat64:
      w.Double(19, std::get<double>(a.value));
      break;
    default:
      FailArgument("attribute ", name, ": this kind is never written");
  }
  return w.bytes();
}

std::string WriteVar(const VarDesc& v) {
  WireWriter type;
  type.Int(1, static_cast<int>(v.kind));
  if (v.kind == VarKind::kTensor || v.kind == VarKind::kTensorArray) {
    WireWriter tensor;
    tensor.Bytes(1, SerializeTensorDesc({v.dtype, v.dims}));
    tensor.Int(2, v.lod_level);
    type.Bytes(v.kind == VarKind::kTensor ? 3 : 4, tensor.bytes());
  }
  WireWriter w;
  w.Bytes(1, v.name);
  w.Bytes(2, type.bytes());
  w.Int(3, v.persistable);
  w.Int(4, v.need_check_feed);
  w.Int(5, v.parameter);
  w.Int(6, v.stop_gradient);
  return w.bytes();
}

std::string Quoted(const std::string& s) {
  constexpr size_t kMost = 80;
  return absl::StrCat("'", absl::CEscape(s.substr(0, kMost)),
                      s.size() > kMost ? "...'" : "'");
}

struct AttributeText {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return absl::StrCat(v); }
  std::string operator()(double v) const { return absl::StrCat(v); }
  std::string operator()(const std::string& v) const { return Quoted(v); }
  template <typename T>
  std::string operator()(const std::vector<T>& v) const {
    constexpr size_t kMost = 16;
    std::vector<std::string> texts;
    for (size_t i = 0; i < std::min(v.size(), kMost); ++i) {
      texts.push_back((*this)(v[i]));
    }
    return absl::StrCat("[", absl::StrJoin(texts, ", "),
                        v.size() > kMost ? ", ...]" : "]");
  }
};

}  // namespace

std::optional<DType> DTypeOfCode(int64_t code) {
  for (const auto& [number, t] : kCodes) {
    if (number == code) return t;
  }
  return std::nullopt;
}

int CodeOfDType(DType t) {
  for (const auto& [number, other] : kCodes) {
    if (other == t) return number;
  }
  return -1;
}

TensorDesc ParseTensorDesc(std::string_view bytes, size_t start) {
  return ReadTensorDesc(WireReader(bytes, "description of a tensor", start));
}

std::string SerializeTensorDesc(const TensorDesc& t) {
  WireWriter w;
  w.Int(1, CodeOfDType(t.dtype.value_or(DType::kFloat32)));
  for (int64_t d : t.dims) w.Int(2, d);
  return w.bytes();
}

ProgramDesc ParseProgramDesc(std::string_view bytes) {
  ProgramDesc program;
  WireReader r(bytes, "program");
  while (r.Next()) {
    switch (r.field()) {
      case 1:
        if (program.blocks.size() == kMaxBlocks) r.Bad("too many blocks");
        program.blocks.push_back(ReadBlock(
            r.Message("block"), static_cast<int64_t>(program.blocks.size())));
        break;
      case 4:
        for (WireReader v = r.Message("version"); v.Next();) {
          if (v.field() == 1) {
            program.version = v.Int();
          } else {
            v.Skip();
          }
        }
        break;
      case 5:
        ReadOpVersions(r.Message("versions of ops"), program.op_versions);
        break;
      default:
        r.Bad(absl::StrCat("a program has no field ", r.field(),
                           "; it is no such file"));
    }
  }
  if (program.blocks.empty()) r.Bad("the program has no block");
  return program;
}

std::string SerializeProgramDesc(const ProgramDesc& program) {
  WireWriter out;
  int index = 0;
  for (const BlockDesc& b : program.blocks) {
    WireWriter block;
    block.Int(1, index++);
    block.Int(2, b.parent);
    for (const VarDesc& v : b.vars) block.Bytes(3, WriteVar(v));
    for (const OpDesc& op : b.ops) {
      WireWriter w;
      WriteSlots(w, 1, op.inputs);
      WriteSlots(w, 2, op.outputs);
      w.Bytes(3, op.type);
      for (const auto& [name, a] : op.attributes) {
        w.Bytes(4, WriteAttribute(name, a));
      }
      block.Bytes(4, w.bytes());
    }
    out.Bytes(1, block.bytes());
  }
  WireWriter version;
  version.Int(1, program.version);
  out.Bytes(4, version.bytes());
  return out.bytes();
}

std::string ToString(const AttributeDesc& a) {
  return std::visit(AttributeText(), a.value);
}

}  // namespace proa::inline v0::jit::reference
