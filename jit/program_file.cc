#include "jit/program_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/file_bytes.h"
#include "jit/program_proto.h"
#include "profiler/atomic_file.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/file_memory.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {
namespace {

constexpr std::string_view kProgramMagic = "PROAPROG";
constexpr std::string_view kParameterMagic = "PROAPARM";

// Elements of captured tensors one after another, each aligned to 64 bytes.
constexpr uint64_t kAlignment = 64;
uint64_t Align(uint64_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

// What the program file says of the parameter file.
struct Checked {
  uint64_t size = 0;
  uint32_t crc = 0;

  // Names the parameter file while it waits for its name.
  std::string Key() const {
    return absl::StrCat(absl::Hex(crc, absl::kZeroPad8), "-", size);
  }
};

// Appends the parameter file's payload. In pieces that are copied first, so
// that the checksum is that of what was written even if a thread trains
// meanwhile.
absl::StatusOr<Checked> AppendParameters(const Module& module,
                                         profiler::AtomicFile& file) {
  constexpr size_t kPiece = size_t{1} << 20;
  Checked done;
  std::string piece;
  for (const Tensor& t : CapturedTensors(module)) {
    const Tensor host =
        Contiguous(t.place().is_cpu() ? t : CopyTo(t, Place{}, true));
    std::string_view rest(static_cast<const char*>(host.raw_data()),
                          static_cast<size_t>(host.bytes()));
    piece.assign(Align(done.size) - done.size, '\0');
    for (;;) {
      piece.append(rest.substr(0, kPiece));
      rest.remove_prefix(std::min(kPiece, rest.size()));
      done.size += piece.size();
      done.crc = Crc32c(piece, done.crc);
      const absl::Status s = file.Append(piece);
      if (!s.ok()) return s;
      if (rest.empty()) break;
      piece.clear();
    }
  }
  return done;
}

// Gives the captured values their tensors. Offsets and sizes were checked
// against each other by ParseModule; here against the file.
// `memory` keeps the bytes, which the tensors then share; null: they are
// copied. `copied`, if any, is told which bytes nobody will read again.
absl::Status FillParameters(const std::string& path, std::string_view bytes,
                            const std::shared_ptr<void>& memory,
                            const std::vector<ParameterSlice>& slices,
                            Program& program,
                            void (*copied)(std::string_view piece) = nullptr) {
  for (const ParameterSlice& s : slices) {
    ValueInfo& v = program.value(s.id);
    if (s.bytes > bytes.size() || s.offset > bytes.size() - s.bytes) {
      return absl::DataLossError(
          absl::StrCat(path, ": '", v.name, "' lies at bytes ", s.offset,
                       " to ", s.offset + s.bytes, " of ", bytes.size()));
    }
    // An old file may have them where their type cannot lie.
    const char* const at = bytes.data() + s.offset;
    if (memory != nullptr && s.bytes > 0 &&
        reinterpret_cast<uintptr_t>(at) % alignof(double) == 0) {
      auto storage = FileStorage(const_cast<char*>(at),
                                 static_cast<int64_t>(s.bytes), memory);
      v.captured =
          Tensor::FromStorage(std::move(storage), v.meta.dtype, v.meta.shape,
                              ContiguousStrides(v.meta.shape));
      continue;
    }
    Tensor t = Tensor::Empty(v.meta.shape, v.meta.dtype);
    if (s.bytes > 0) std::memcpy(t.raw_data(), at, s.bytes);
    v.captured = std::move(t);
    if (copied != nullptr) copied({at, s.bytes});
  }
  return absl::OkStatus();
}

// "model.pdmodel: <message>" with the code kept.
absl::Status In(const std::string& path, const absl::Status& s) {
  return absl::Status(s.code(), absl::StrCat(path, ": ", s.message()));
}

}  // namespace

absl::Status SaveModule(const Module& module, const std::string& prefix) {
  auto parameter_file = profiler::AtomicFile::Create(prefix + ".pdiparams");
  if (!parameter_file.ok()) return parameter_file.status();
  auto program_file = profiler::AtomicFile::Create(prefix + ".pdmodel");
  if (!program_file.ok()) return program_file.status();

  absl::Status s = parameter_file->Append(Envelope(kParameterMagic, 0, 0));
  if (!s.ok()) return s;
  const absl::StatusOr<Checked> payload =
      AppendParameters(module, *parameter_file);
  if (!payload.ok()) return payload.status();
  s = parameter_file->WriteAt(
      0, Envelope(kParameterMagic, payload->size, payload->crc));
  if (!s.ok()) return s;
  const absl::StatusOr<std::string> program =
      SerializeModule(module, kAlignment, payload->size, payload->crc);
  if (!program.ok()) return program.status();
  s = program_file->Append(
      Envelope(kProgramMagic, program->size(), Crc32c(*program)));
  if (s.ok()) s = program_file->Append(*program);
  if (!s.ok()) return s;
  return profiler::CommitTogether(*program_file,
                                  {{&*parameter_file, payload->Key()}});
}

namespace {

// Whether these are the parameters that a program file names; Unseal has
// compared the checksum in the envelope with the payload.
bool Names(const Checked& named, std::string_view payload,
           std::string_view file) {
  return payload.size() == named.size &&
         file.substr(0, kEnvelopeBytes) ==
             Envelope(kParameterMagic, named.size, named.crc);
}

void ForgetPiece(std::string_view piece) {
  ForgetFilePages(piece.data(), static_cast<int64_t>(piece.size()));
}

// The payload of the parameter file that the program file names; NotFound if
// there is another.
absl::StatusOr<WholeFile> ReadParameters(const std::string& path,
                                         const Checked& named,
                                         Parameters parameters) {
  absl::Status other = absl::NotFoundError("");
  for (const std::string& at :
       {path, profiler::StagedPath(path, named.Key())}) {
    absl::StatusOr<WholeFile> file = parameters == Parameters::kMapped
                                         ? WholeFile::Map(at)
                                         : WholeFile::Read(at);
    if (!file.ok()) {
      if (at == path) other = file.status();
      continue;
    }
    // Of a file that is mapped, the pages of what is checked are not needed
    // yet.
    const absl::StatusOr<std::string_view> payload =
        Unseal(at, kParameterMagic, file->bytes(),
               parameters == Parameters::kMapped ? ForgetPiece : nullptr);
    if (!payload.ok()) {
      if (at == path) other = payload.status();
      continue;
    }
    if (Names(named, *payload, file->bytes())) return file;
  }
  return other;
}

// One that reads no parameters needs no file of them.
absl::StatusOr<Module> Verified(ParsedModule parsed,
                                const std::string& program_path) {
  if (absl::Status s = VerifyModule(parsed.module); !s.ok()) {
    return In(program_path, s);
  }
  return std::move(parsed.module);
}

// What the program holds already is the same tensor in its training.
absl::Status FillTraining(const std::string& path, std::string_view bytes,
                          const std::shared_ptr<void>& memory,
                          ParsedModule& parsed) {
  if (parsed.training == nullptr) return absl::OkStatus();
  ParsedModule& training = *parsed.training;
  const Program& program = *parsed.module.program;
  std::map<uint64_t, ValueId> held;
  for (const ParameterSlice& s : parsed.slices) {
    if (s.bytes > 0) held[s.offset] = s.id;
  }
  std::vector<ParameterSlice> own;
  for (const ParameterSlice& s : training.slices) {
    ValueInfo& v = training.module.program->value(s.id);
    const auto at = held.find(s.offset);
    const Tensor t =
        at == held.end() ? Tensor() : program.value(at->second).captured;
    if (t.defined() && t.dtype() == v.meta.dtype && t.shape() == v.meta.shape &&
        s.bytes > 0) {
      v.captured = t;
    } else {
      own.push_back(s);
    }
  }
  absl::Status filled =
      FillParameters(path, bytes, memory, own, *training.module.program);
  if (!filled.ok()) return filled;
  if (absl::Status s = VerifyModule(training.module); !s.ok()) return s;
  parsed.module.training =
      std::make_shared<const Module>(std::move(training.module));
  return absl::OkStatus();
}

// Whether each byte is read for one parameter at most.
bool AreApart(std::vector<ParameterSlice> slices) {
  std::ranges::sort(slices, {}, &ParameterSlice::offset);
  uint64_t end = 0;
  for (const ParameterSlice& s : slices) {
    if (s.offset < end) return false;
    end = s.offset + s.bytes;
  }
  return true;
}

// Whose a file's bytes are that were read: those of a caller stay as they are.
enum class Bytes { kOfCaller, kOwn };

// The program with its parameters, the contents of a file.
absl::StatusOr<Module> Complete(ParsedModule parsed,
                                const std::string& program_path,
                                const std::string& parameter_path,
                                std::string_view parameters,
                                const std::shared_ptr<void>& memory,
                                Bytes whose) {
  try {
    // Else the weights would lie in memory twice until the last one is copied.
    const bool lets_go = whose == Bytes::kOwn && memory == nullptr &&
                         parsed.training == nullptr && AreApart(parsed.slices);
    absl::Status s = FillParameters(
        parameter_path, parameters.substr(kEnvelopeBytes), memory,
        parsed.slices, *parsed.module.program, lets_go ? ForgetPiece : nullptr);
    if (!s.ok()) return s;
    s = FillTraining(parameter_path, parameters.substr(kEnvelopeBytes), memory,
                     parsed);
    if (!s.ok()) return s;
  } catch (const Error& e) {
    return absl::Status(e.code(), absl::StrCat(parameter_path, ": ", e.what()));
  }
  return Verified(std::move(parsed), program_path);
}

absl::StatusOr<ParsedModule> ParseProgram(
    std::string_view bytes, const std::string& path,
    Training training = Training::kIgnored) {
  const absl::StatusOr<std::string_view> payload =
      Unseal(path, kProgramMagic, bytes);
  if (!payload.ok()) return payload.status();
  absl::StatusOr<ParsedModule> parsed = ParseModule(*payload, training);
  if (!parsed.ok()) return In(path, parsed.status());
  return parsed;
}

absl::StatusOr<Module> LoadFrom(const WholeFile& program_file,
                                const std::string& program_path,
                                const std::string& parameter_path,
                                Parameters kind, Training training) {
  absl::StatusOr<ParsedModule> parsed =
      ParseProgram(program_file.bytes(), program_path, training);
  if (!parsed.ok()) return parsed.status();
  const absl::StatusOr<WholeFile> parameters = ReadParameters(
      parameter_path,
      {.size = parsed->parameter_bytes, .crc = parsed->parameter_crc}, kind);
  if (!parameters.ok() && parameters.status().message().empty()) {
    return absl::DataLossError(
        absl::StrCat(parameter_path, ": does not belong to ", program_path));
  }
  if (parsed->slices.empty() && parsed->training == nullptr &&
      absl::IsNotFound(parameters.status())) {
    return Verified(*std::move(parsed), program_path);
  }
  if (!parameters.ok()) return parameters.status();
  return Complete(*std::move(parsed), program_path, parameter_path,
                  parameters->bytes(),
                  kind == Parameters::kMapped ? parameters->memory() : nullptr,
                  Bytes::kOwn);
}

}  // namespace

absl::StatusOr<Module> LoadModule(const std::string& prefix,
                                  Parameters parameters, Training training) {
  return LoadModuleFiles(prefix + ".pdmodel", prefix + ".pdiparams", parameters,
                         training);
}

absl::StatusOr<Module> LoadModuleFiles(const std::string& program_path,
                                       const std::string& parameter_path,
                                       Parameters parameters,
                                       Training training) {
  constexpr int kMaxTries = 1000;
  absl::StatusOr<Module> module = absl::UnknownError("");
  int settled = 0;
  for (int i = 0; i < kMaxTries && settled < 2; ++i) {
    const absl::StatusOr<WholeFile> program = WholeFile::Read(program_path);
    if (!program.ok()) return program.status();
    module =
        LoadFrom(*program, program_path, parameter_path, parameters, training);
    if (module.ok()) return module;
    // A model that is replaced between two readings is read again; once more
    // still, for parameters that got their name between two looks.
    settled = program->IsStillAt(program_path) ? settled + 1 : 0;
  }
  return module;
}

absl::StatusOr<Module> ParseModuleFiles(std::string_view program,
                                        std::string_view parameters) {
  const std::string program_name = "program", parameter_name = "parameters";
  absl::StatusOr<ParsedModule> parsed = ParseProgram(program, program_name);
  if (!parsed.ok()) return parsed.status();
  if (parsed->slices.empty() && parameters.empty()) {
    return Verified(*std::move(parsed), program_name);
  }
  const absl::StatusOr<std::string_view> payload =
      Unseal(parameter_name, kParameterMagic, parameters);
  if (!payload.ok()) return payload.status();
  if (!Names({.size = parsed->parameter_bytes, .crc = parsed->parameter_crc},
             *payload, parameters)) {
    return absl::DataLossError("the parameters do not belong to the program");
  }
  return Complete(*std::move(parsed), program_name, parameter_name, parameters,
                  nullptr, Bytes::kOfCaller);
}

}  // namespace proa::inline v0::jit
