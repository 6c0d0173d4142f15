#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "jit/program.pb.h"
#include "jit/program_format.h"
#include "jit/program_proto.h"
#include "ops/upgrade.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

namespace file = ::proa_program_file;

constexpr size_t kMaxValues = size_t{1} << 24;
// What the context may say (Module::context).
constexpr std::string_view kSettings[] = {"autocast", "default_dtype",
                                          "gradients", "place", "training"};

// Thrown inside of the reader only; ParseModule turns it into a Status.
struct FormatError {
  std::string message;
};
[[noreturn]] void Bad(const std::string& what) { throw FormatError{what}; }

// Texts of the file in messages: short, and printable whatever they hold.
std::string Quoted(const std::string& name) {
  constexpr size_t kMost = 80;
  return absl::StrCat("'", absl::CEscape(name.substr(0, kMost)),
                      name.size() > kMost ? "...'" : "'");
}

// A field of a later release would change what the file means.
void RefuseUnknownFields(const google::protobuf::Message& m) {
  const google::protobuf::Reflection& reflection = *m.GetReflection();
  const auto& unknown = reflection.GetUnknownFields(m);
  if (!unknown.empty()) {
    Bad(absl::StrCat("field ", unknown.field(0).number(), " of ",
                     std::string(m.GetDescriptor()->name()),
                     " is not known to this release"));
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(m, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() !=
        google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    }
    if (!field->is_repeated()) {
      RefuseUnknownFields(reflection.GetMessage(m, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(m, field); ++i) {
      RefuseUnknownFields(reflection.GetRepeatedMessage(m, field, i));
    }
  }
}

DType ReadDType(const std::string& name) {
  const std::optional<DType> t = ParseDType(name);
  if (!t.has_value()) {
    Bad(absl::StrCat(Quoted(name), " is no dtype that this release knows"));
  }
  return *t;
}

TensorMeta ReadMeta(const file::Meta& m) {
  TensorMeta meta;
  if (m.dims_size() > kMaxRank) Bad("a shape has too many dims");
  for (int64_t d : m.dims()) {
    if (d < 0 && d != kUnknownDim) Bad("a shape has a negative size");
    meta.shape.push_back(d);
  }
  meta.shape.numel();  // throws Error when it overflows
  meta.dtype = ReadDType(m.dtype());
  if (!m.place().empty()) meta.place = ParsePlace(m.place());
  return meta;
}

Scalar ReadScalar(const file::Scalar& s) {
  switch (s.kind_case()) {
    case file::Scalar::kB:
      return Scalar(s.b());
    case file::Scalar::kI:
      return Scalar(static_cast<int64_t>(s.i()));
    case file::Scalar::kF:
      return Scalar(s.f());
    case file::Scalar::kC:
      return Scalar(complex128(s.c().re(), s.c().im()));
    default:
      Bad("a number has no value");
  }
}

// A tensor, tensors, or an attribute; ids are checked when they are used.
RecordedArgument ReadArgument(const file::Argument& a) {
  switch (a.kind_case()) {
    case file::Argument::kNone:
      return Value();
    case file::Argument::kValue:
      return RecordedTensor{a.value()};
    case file::Argument::kValueList: {
      std::vector<RecordedTensor> list;
      for (uint32_t id : a.value_list().ids()) list.push_back({id});
      return list;
    }
    case file::Argument::kB:
      return Value(a.b());
    case file::Argument::kI:
      return Value(static_cast<int64_t>(a.i()));
    case file::Argument::kF:
      return Value(a.f());
    case file::Argument::kS:
      return Value(a.s());
    case file::Argument::kIntList:
      return Value(std::vector<int64_t>(a.int_list().values().begin(),
                                        a.int_list().values().end()));
    case file::Argument::kFloatList:
      return Value(std::vector<double>(a.float_list().values().begin(),
                                       a.float_list().values().end()));
    case file::Argument::kScalar:
      return Value(ReadScalar(a.scalar()));
    case file::Argument::kDtype:
      return Value(ReadDType(a.dtype()));
    case file::Argument::kPlace:
      return Value(ParsePlace(a.place()));
    default:
      Bad(absl::StrCat("argument ", Quoted(a.name()), " has no value"));
  }
}

RecordedCall ReadCall(const file::Operation& f) {
  RecordedCall call;
  call.op = f.op();
  constexpr uint32_t kMostVersions = 1u << 20;
  if (f.version() == 0 || f.version() > kMostVersions) {
    Bad(absl::StrCat("op ", Quoted(f.op()), " has the version ", f.version()));
  }
  call.version = static_cast<int>(f.version());
  for (const file::Argument& a : f.args()) {
    if (call.Find(a.name()) != nullptr) {
      Bad(absl::StrCat("op ", Quoted(f.op()), " has the argument ",
                       Quoted(a.name()), " twice"));
    }
    call.args.emplace_back(a.name(), ReadArgument(a));
  }
  for (const file::Result& r : f.results()) {
    call.results.emplace_back(
        r.name(), std::vector<int64_t>(r.ids().begin(), r.ids().end()));
  }
  return call;
}

class Reader {
 public:
  explicit Reader(const file::Module& m) : file_(m) {}

  ParsedModule Run() {
    if (file_.format() != kFormat) {
      Bad(absl::StrCat("format ", file_.format(),
                       "; this release reads format ", kFormat,
                       file_.format() == 1 ? "; save the model again" : ""));
    }
    RefuseUnknownFields(file_);
    ReadContext();
    ReadValues();
    ReadBlock(file_.block(), program_->block(), 0);
    out_.module.program = program_;
    for (uint32_t id : file_.inputs()) out_.module.inputs.push_back(Id(id));
    for (uint32_t id : file_.outputs()) out_.module.outputs.push_back(Id(id));
    out_.module.output_names.assign(file_.output_names().begin(),
                                    file_.output_names().end());
    out_.parameter_bytes = file_.parameter_bytes();
    out_.parameter_crc = file_.parameter_crc();
    if (file_.has_flags()) {
      out_.module.trainable.emplace(file_.flags().trainable().begin(),
                                    file_.flags().trainable().end());
    }
    return std::move(out_);
  }

 private:
  ValueId Id(int64_t id) const {
    if (id < 0 || id >= static_cast<int64_t>(program_->values().size())) {
      Bad(absl::StrCat("value %", id, " does not exist"));
    }
    return static_cast<ValueId>(id);
  }

  void ReadContext() {
    for (const file::Setting& s : file_.context()) {
      if (std::ranges::find(kSettings, s.name()) == std::end(kSettings)) {
        Bad(absl::StrCat("it was recorded under a setting ", Quoted(s.name()),
                         " that this release does not know"));
      }
      out_.module.context.emplace_back(s.name(), s.value());
    }
  }

  void ReadValues() {
    if (static_cast<size_t>(file_.values_size()) > kMaxValues) {
      Bad("too many values");
    }
    for (const file::Value& v : file_.values()) {
      ValueInfo info;
      info.kind = static_cast<ValueKind>(v.kind());
      if (v.kind() < 0 || v.kind() > 3) {
        Bad(absl::StrCat("a value is of kind ", static_cast<int>(v.kind()),
                         ", which this release does not know"));
      }
      info.meta = ReadMeta(v.meta());
      info.name = v.name();
      if (info.kind == ValueKind::kCaptured) ReadSlice(v, info);
      program_->AddValue(std::move(info));
    }
  }

  void ReadSlice(const file::Value& v, const ValueInfo& info) {
    if (!info.meta.shape.known()) {
      Bad(absl::StrCat(Quoted(info.name), " has an unknown size"));
    }
    const int64_t bytes =
        CheckedMul(info.meta.shape.numel(), ItemSize(info.meta.dtype));
    const uint64_t total = file_.parameter_bytes();
    if (v.bytes() != static_cast<uint64_t>(bytes) || v.bytes() > total ||
        v.offset() > total - v.bytes()) {
      Bad(absl::StrCat(Quoted(info.name), " has ", v.bytes(),
                       " bytes at offset ", v.offset(), "; ",
                       ToString(info.meta.shape), " needs ", bytes, " within ",
                       total));
    }
    out_.slices.push_back({static_cast<ValueId>(program_->values().size()),
                           v.offset(), v.bytes()});
  }

  // A tensor that the file holds, for a parameter.
  Argument ToArgument(const ParamInfo& p, const RecordedArgument& a) const {
    if (const auto* t = std::get_if<RecordedTensor>(&a)) {
      if (t->id == RecordedTensor::kNone) return ValueRef{};
      return ValueRef{Id(t->id)};
    }
    if (const auto* list = std::get_if<std::vector<RecordedTensor>>(&a)) {
      std::vector<ValueRef> refs;
      for (RecordedTensor t : *list) refs.push_back({Id(t.id)});
      return refs;
    }
    const auto& v = std::get<Value>(a);
    // None for a tensor is the reference to no value.
    if (p.type == ParamType::kTensor &&
        std::holds_alternative<std::monostate>(v)) {
      return ValueRef{};
    }
    return v;
  }

  Argument ArgumentOf(const RecordedCall& call, const ParamInfo& p) const {
    for (const auto& [name, value] : call.args) {
      if (name == p.name) return ToArgument(p, value);
    }
    if (p.default_value != nullptr) {
      return ToArgument(p, ReadArgument(DefaultOf(p)));
    }
    if (p.type == ParamType::kTensor && p.optional) return ValueRef{};
    Bad(absl::StrCat("op '", call.op, "' has no argument '", p.name, "'"));
  }

  std::vector<ValueId> ResultOf(const RecordedCall& call,
                                const OutputInfo& output) {
    for (const auto& [name, ids] : call.results) {
      if (name != output.name) continue;
      std::vector<ValueId> out;
      for (int64_t id : ids) out.push_back(Id(id));
      return out;
    }
    // One that the op did not give when the file was written: nobody uses it.
    if (output.is_list) return {};
    return {program_->AddValue(ValueKind::kResult, TensorMeta{})};
  }

  const OpDefinition& Definition(const RecordedCall& call,
                                 const std::string& extension) const {
    const OpDefinition* op = FindOp(call.op);
    if (op == nullptr && !extension.empty()) {
      Bad(absl::StrCat("op ", Quoted(call.op), " is of the extension ",
                       Quoted(extension),
                       ", which is not loaded; load it first "
                       "(proa.utils.cpp_extension.load or import its module, "
                       "in C++ proa::inference::LoadExtension)"));
    }
    if (op == nullptr) {
      Bad(absl::StrCat("op ", Quoted(call.op),
                       " is not known to this release"));
    }
    if (call.version > op->version) {
      Bad(absl::StrCat("op '", call.op, "' version ", call.version,
                       " is newer than this release, which has version ",
                       op->version));
    }
    if (call.version < op->version) {
      Bad(absl::StrCat("op '", call.op, "' version ", call.version,
                       ": this release has version ", op->version,
                       " and no upgrade"));
    }
    for (const auto& [name, value] : call.args) {
      if (std::ranges::none_of(op->params, [&n = name](const ParamInfo& p) {
            return n == p.name;
          })) {
        Bad(absl::StrCat("op '", call.op, "' has the argument ", Quoted(name),
                         ", which this release does not know; ",
                         op->signature));
      }
    }
    for (size_t i = 0; i < call.results.size(); ++i) {
      const std::string& name = call.results[i].first;
      bool known = false;
      for (const OutputInfo& o : op->outputs) known |= name == o.name;
      for (size_t k = 0; k < i; ++k) known &= call.results[k].first != name;
      if (!known) {
        Bad(absl::StrCat("op '", call.op, "' gives ", Quoted(name),
                         ", which this release does not know; ",
                         op->signature));
      }
    }
    return *op;
  }

  Operation ReadOperation(const file::Operation& f, int depth) {
    Operation o;
    RecordedCall call = ReadCall(f);
    UpgradeCall(call);
    o.op = &Definition(call, f.extension());
    for (const ParamInfo& p : o.op->params) {
      o.args.push_back(ArgumentOf(call, p));
    }
    for (const OutputInfo& output : o.op->outputs) {
      o.results.push_back(ResultOf(call, output));
    }
    for (const file::Block& region : f.regions()) {
      o.regions.push_back(std::make_unique<Block>());
      ReadBlock(region, *o.regions.back(), depth + 1);
    }
    return o;
  }

  void ReadBlock(const file::Block& f, Block& block, int depth) {
    if (depth > kMaxRegionDepth) Bad("regions are nested too deeply");
    for (uint32_t id : f.arguments()) block.arguments.push_back(Id(id));
    for (const file::Operation& o : f.operations()) {
      block.operations.push_back(ReadOperation(o, depth));
    }
    for (uint32_t id : f.returns()) block.returns.push_back(Id(id));
  }

  const file::Module& file_;
  ParsedModule out_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

// What is wrong, and by whom the file was written if that was another release.
absl::Status Refusal(const file::Module& m, const std::string& what) {
  const bool other = m.producer() != kProducer;
  return absl::InvalidArgumentError(
      absl::StrCat(what, other ? "; the file was written by " : "",
                   other ? Quoted(m.producer()) : "", other ? ", this is " : "",
                   other ? kProducer : ""));
}

std::unique_ptr<ParsedModule> ReadTraining(const file::Module& of) {
  file::Module m;
  if (!m.ParseFromString(of.training()) || !m.training().empty()) {
    Bad("what it does in training is no program of this format");
  }
  m.set_parameter_bytes(of.parameter_bytes());  // within which its tensors lie
  return std::make_unique<ParsedModule>(Reader(m).Run());
}

}  // namespace

absl::StatusOr<ParsedModule> ParseModule(std::string_view bytes,
                                         Training training) {
  // What is wrong is the error's matter; protobuf would print it as well.
  google::protobuf::LogSilencer quiet;
  file::Module m;
  if (bytes.size() > (size_t{1} << 31) - 1 ||
      !m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("is no program of this format");
  }
  try {
    ParsedModule parsed = Reader(m).Run();
    if (training == Training::kRead && !m.training().empty()) {
      parsed.training = ReadTraining(m);
    }
    return parsed;
  } catch (const FormatError& e) {
    return Refusal(m, e.message);
  } catch (const Error& e) {
    return Refusal(m, e.what());
  }
}

}  // namespace proa::inline v0::jit
