#include "jit/program_proto.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "jit/program.pb.h"
#include "jit/verify.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

namespace file = ::proa_program_file;

constexpr uint32_t kFormat = 1;
constexpr size_t kMaxValues = size_t{1} << 24;
constexpr int kMaxDepth = 200;

std::string ToStdString(std::string_view s) { return std::string(s); }

// Writing
// -----------------------------------------------------------------------

void Write(const TensorMeta& m, file::Meta* out) {
  for (int64_t d : m.shape) out->add_dims(d);
  out->set_dtype(ToStdString(Name(m.dtype)));
  if (!m.place.is_cpu()) out->set_place(ToString(m.place));
}

void Write(const std::vector<ValueRef>& refs, file::ValueList* out) {
  for (ValueRef r : refs) out->add_ids(static_cast<uint32_t>(r.id));
}

struct AttributeWriter {
  file::Argument* out;

  void operator()(std::monostate) const { out->set_none(true); }
  void operator()(const Tensor&) const { out->set_none(true); }
  void operator()(const std::vector<Tensor>&) const { out->set_none(true); }
  void operator()(bool b) const { out->set_b(b); }
  void operator()(int64_t i) const { out->set_i(i); }
  void operator()(double d) const { out->set_f(d); }
  void operator()(const std::string& s) const { out->set_s(s); }
  void operator()(const std::vector<int64_t>& v) const {
    out->mutable_int_list()->mutable_values()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<double>& v) const {
    out->mutable_float_list()->mutable_values()->Assign(v.begin(), v.end());
  }
  void operator()(const IntArray& a) const {
    out->mutable_int_list()->mutable_values()->Assign(a.values().begin(),
                                                      a.values().end());
  }
  void operator()(const Scalar& s) const {
    file::Scalar* to = out->mutable_scalar();
    if (s.is_bool()) return to->set_b(s.to<bool>());
    if (s.is_integer()) return to->set_i(s.to<int64_t>());
    if (s.is_float()) return to->set_f(s.to<double>());
    const auto z = s.to<complex128>();
    to->mutable_c()->set_re(z.real());
    to->mutable_c()->set_im(z.imag());
  }
  void operator()(DType t) const { out->set_dtype(ToStdString(Name(t))); }
  void operator()(Place p) const { out->set_place(ToString(p)); }
};

void Write(const Argument& a, file::Argument* out) {
  if (const auto* ref = std::get_if<ValueRef>(&a)) {
    if (ref->id == kNoValue) return out->set_none(true);
    return out->set_value(static_cast<uint32_t>(ref->id));
  }
  if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
    return Write(*refs, out->mutable_value_list());
  }
  std::visit(AttributeWriter{out}, std::get<Value>(a));
}

void Write(const Block& block, file::Block* out);

void Write(const Operation& o, file::Operation* out) {
  if (o.kind == OperationKind::kCall) {
    out->set_op(o.op->name);
    out->set_version(static_cast<uint32_t>(o.op->version));
  } else {
    out->set_op(o.kind == OperationKind::kCond ? "cond" : "while");
    out->set_control_flow(true);
  }
  for (const Argument& a : o.args) Write(a, out->add_args());
  for (const auto& ids : o.results) {
    file::ValueList* list = out->add_results();
    for (ValueId id : ids) list->add_ids(static_cast<uint32_t>(id));
  }
  for (const auto& region : o.regions) Write(*region, out->add_regions());
}

void Write(const Block& block, file::Block* out) {
  for (ValueId id : block.arguments)
    out->add_arguments(static_cast<uint32_t>(id));
  for (const Operation& o : block.operations) Write(o, out->add_operations());
  for (ValueId id : block.returns) out->add_returns(static_cast<uint32_t>(id));
}

// Reading
// -----------------------------------------------------------------------

// Thrown inside of the reader only; ParseModule turns it into a Status.
struct FormatError {
  std::string message;
};
[[noreturn]] void Bad(const std::string& what) { throw FormatError{what}; }

DType ReadDType(const std::string& name) {
  const std::optional<DType> t = ParseDType(name);
  if (!t.has_value()) Bad(absl::StrCat("'", name, "' is no dtype"));
  return *t;
}

TensorMeta ReadMeta(const file::Meta& m) {
  TensorMeta meta;
  if (m.dims_size() > kMaxRank) Bad("a shape has too many dims");
  for (int64_t d : m.dims()) {
    if (d < kUnknownDim) Bad("a shape has a negative size");
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

class Reader {
 public:
  explicit Reader(const file::Module& m) : file_(m) {}

  ParsedModule Run() {
    if (file_.format() != kFormat) {
      Bad(absl::StrCat("format ", file_.format(), "; this build reads format ",
                       kFormat));
    }
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
  ValueId Id(uint32_t id) const {
    if (id >= program_->values().size()) {
      Bad(absl::StrCat("value %", id, " does not exist"));
    }
    return static_cast<ValueId>(id);
  }

  void ReadValues() {
    if (static_cast<size_t>(file_.values_size()) > kMaxValues) {
      Bad("too many values");
    }
    for (const file::Value& v : file_.values()) {
      ValueInfo info;
      info.kind = static_cast<ValueKind>(v.kind());
      if (v.kind() < 0 || v.kind() > 3) Bad("a value has an unknown kind");
      info.meta = ReadMeta(v.meta());
      info.name = v.name();
      if (info.kind == ValueKind::kCaptured) ReadSlice(v, info);
      program_->AddValue(std::move(info));
    }
  }

  void ReadSlice(const file::Value& v, const ValueInfo& info) {
    if (!info.meta.shape.known()) {
      Bad(absl::StrCat("'", info.name, "' has an unknown size"));
    }
    const int64_t bytes =
        CheckedMul(info.meta.shape.numel(), ItemSize(info.meta.dtype));
    const uint64_t total = file_.parameter_bytes();
    if (v.bytes() != static_cast<uint64_t>(bytes) || v.bytes() > total ||
        v.offset() > total - v.bytes()) {
      Bad(absl::StrCat("'", info.name, "' has ", v.bytes(), " bytes at offset ",
                       v.offset(), "; ", ToString(info.meta.shape), " needs ",
                       bytes, " within ", total));
    }
    out_.slices.push_back({static_cast<ValueId>(program_->values().size()),
                           v.offset(), v.bytes()});
  }

  Argument ReadArgument(const file::Argument& a) const {
    switch (a.kind_case()) {
      case file::Argument::kNone:
        return Value();
      case file::Argument::kValue:
        return ValueRef{Id(a.value())};
      case file::Argument::kValueList: {
        std::vector<ValueRef> refs;
        for (uint32_t id : a.value_list().ids()) refs.push_back({Id(id)});
        return refs;
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
        Bad("an argument has no value");
    }
  }

  Operation ReadOperation(const file::Operation& f, int depth) {
    Operation o;
    if (f.control_flow()) {
      if (f.op() != "cond" && f.op() != "while") {
        Bad(absl::StrCat("'", f.op(), "' is no control flow"));
      }
      o.kind = f.op() == "cond" ? OperationKind::kCond : OperationKind::kWhile;
    } else {
      o.op = FindOp(f.op());
      if (o.op == nullptr) {
        Bad(absl::StrCat("op '", f.op(), "' is not known to this build"));
      }
      if (f.version() > static_cast<uint32_t>(o.op->version)) {
        Bad(absl::StrCat("op '", f.op(), "' version ", f.version(),
                         " is newer than this build, which has version ",
                         o.op->version));
      }
    }
    for (int i = 0; i < f.args_size(); ++i) {
      Argument a = ReadArgument(f.args(i));
      // None for a tensor is the reference to no value.
      const bool is_tensor = o.op != nullptr &&
                             i < static_cast<int>(o.op->params.size()) &&
                             o.op->params[i].type == ParamType::kTensor;
      if (is_tensor && std::holds_alternative<Value>(a) &&
          std::holds_alternative<std::monostate>(std::get<Value>(a))) {
        a = ValueRef{};
      }
      o.args.push_back(std::move(a));
    }
    for (const file::ValueList& list : f.results()) {
      o.results.emplace_back();
      for (uint32_t id : list.ids()) o.results.back().push_back(Id(id));
    }
    for (const file::Block& region : f.regions()) {
      o.regions.push_back(std::make_unique<Block>());
      ReadBlock(region, *o.regions.back(), depth + 1);
    }
    return o;
  }

  void ReadBlock(const file::Block& f, Block& block, int depth) {
    if (depth > kMaxDepth) Bad("regions are nested too deeply");
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

}  // namespace

absl::StatusOr<std::string> SerializeModule(const Module& module,
                                            uint64_t alignment,
                                            uint64_t parameter_bytes,
                                            uint32_t parameter_crc) {
  if (absl::Status s = VerifyModule(module); !s.ok()) return s;
  file::Module out;
  out.set_format(kFormat);
  out.set_producer("proa");
  uint64_t offset = 0;
  for (const ValueInfo& v : module.program->values()) {
    file::Value* to = out.add_values();
    to->set_kind(static_cast<file::Value::Kind>(v.kind));
    Write(v.meta, to->mutable_meta());
    to->set_name(v.name);
    if (v.kind == ValueKind::kCaptured) {
      offset = (offset + alignment - 1) / alignment * alignment;
      to->set_offset(offset);
      to->set_bytes(static_cast<uint64_t>(v.captured.bytes()));
      offset += to->bytes();
    }
  }
  Write(module.program->block(), out.mutable_block());
  for (ValueId id : module.inputs) out.add_inputs(static_cast<uint32_t>(id));
  for (ValueId id : module.outputs) out.add_outputs(static_cast<uint32_t>(id));
  for (const std::string& n : module.output_names) out.add_output_names(n);
  out.set_parameter_bytes(parameter_bytes);
  out.set_parameter_crc(parameter_crc);
  if (module.trainable.has_value()) {
    file::Flags* flags = out.mutable_flags();
    for (const std::string& n : *module.trainable) flags->add_trainable(n);
  }
  std::string bytes;
  if (!out.SerializeToString(&bytes)) {
    return absl::ResourceExhaustedError("the program is larger than 2 GiB");
  }
  return bytes;
}

absl::StatusOr<ParsedModule> ParseModule(std::string_view bytes) {
  file::Module m;
  if (bytes.size() > (size_t{1} << 31) - 1 ||
      !m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("is no program of this format");
  }
  try {
    return Reader(m).Run();
  } catch (const FormatError& e) {
    return absl::InvalidArgumentError(e.message);
  } catch (const Error& e) {
    return absl::InvalidArgumentError(e.what());
  }
}

absl::Status VerifyModule(const Module& module) {
  if (absl::Status s = Verify(*module.program); !s.ok()) return s;
  const auto n = static_cast<ValueId>(module.program->values().size());
  // Verify made sure that each value of the outer block is made; results of
  // regions are no entry points.
  std::vector<bool> outer(n, false);
  for (ValueId id = 0; id < n; ++id) {
    const ValueKind k = module.program->value(id).kind;
    outer[id] = k == ValueKind::kInput || k == ValueKind::kCaptured;
  }
  for (const Operation& o : module.program->block().operations) {
    for (const auto& ids : o.results) {
      for (ValueId id : ids) outer[id] = true;
    }
  }
  for (ValueId id : module.inputs) {
    if (id < 0 || id >= n ||
        module.program->value(id).kind != ValueKind::kInput) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry input %", id, " is no input of the program"));
    }
  }
  for (ValueId id : module.outputs) {
    if (id < 0 || id >= n || !outer[id]) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry output %", id, " is not made by the program"));
    }
  }
  if (module.output_names.size() != module.outputs.size()) {
    return absl::InvalidArgumentError("outputs and their names do not match");
  }
  return absl::OkStatus();
}

}  // namespace proa::inline v0::jit
