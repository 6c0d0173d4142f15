#include "jit/program_file.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/file_bytes.h"
#include "jit/program_proto.h"
#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

constexpr std::string_view kProgramMagic = "PROAPROG";
constexpr std::string_view kParameterMagic = "PROAPARM";

// Elements of captured tensors one after another, each aligned to 64 bytes.
constexpr uint64_t kAlignment = 64;
uint64_t Align(uint64_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

std::string ParameterBytes(const Program& program) {
  std::string bytes;
  for (ValueId id : program.captured()) {
    const Tensor& t = program.value(id).captured;
    const Tensor host =
        Contiguous(t.place().is_cpu() ? t : CopyTo(t, Place{}, true));
    bytes.resize(Align(bytes.size()));
    bytes.append(static_cast<const char*>(host.raw_data()),
                 static_cast<size_t>(host.bytes()));
  }
  return bytes;
}

// Gives the captured values their tensors. Offsets and sizes were checked
// against each other by ParseModule; here against the file.
absl::Status FillParameters(const std::string& path, std::string_view bytes,
                            const std::vector<ParameterSlice>& slices,
                            Program& program) {
  for (const ParameterSlice& s : slices) {
    ValueInfo& v = program.value(s.id);
    if (s.bytes > bytes.size() || s.offset > bytes.size() - s.bytes) {
      return absl::DataLossError(
          absl::StrCat(path, ": '", v.name, "' lies at bytes ", s.offset,
                       " to ", s.offset + s.bytes, " of ", bytes.size()));
    }
    Tensor t = Tensor::Empty(v.meta.shape, v.meta.dtype);
    if (s.bytes > 0)
      std::memcpy(t.raw_data(), bytes.data() + s.offset, s.bytes);
    v.captured = std::move(t);
  }
  return absl::OkStatus();
}

// "model.pdmodel: <message>" with the code kept.
absl::Status In(const std::string& path, const absl::Status& s) {
  return absl::Status(s.code(), absl::StrCat(path, ": ", s.message()));
}

}  // namespace

absl::Status SaveModule(const Module& module, const std::string& prefix) {
  const std::string parameters = ParameterBytes(*module.program);
  absl::StatusOr<std::string> program = SerializeModule(
      module, kAlignment, parameters.size(), Crc32c(parameters));
  if (!program.ok()) return program.status();
  // Parameters first: a program file never names parameters that are not there.
  absl::Status s = WriteFileAtomically(prefix + ".pdiparams",
                                       Seal(kParameterMagic, parameters));
  if (!s.ok()) return s;
  return WriteFileAtomically(prefix + ".pdmodel",
                             Seal(kProgramMagic, *program));
}

absl::StatusOr<Module> LoadModule(const std::string& prefix) {
  const std::string program_path = prefix + ".pdmodel";
  const std::string parameter_path = prefix + ".pdiparams";
  absl::StatusOr<std::string> program_bytes = ReadFile(program_path);
  if (!program_bytes.ok()) return program_bytes.status();
  absl::StatusOr<std::string_view> payload =
      Unseal(program_path, kProgramMagic, *program_bytes);
  if (!payload.ok()) return payload.status();
  absl::StatusOr<ParsedModule> parsed = ParseModule(*payload);
  if (!parsed.ok()) return In(program_path, parsed.status());

  absl::StatusOr<std::string> parameter_bytes = ReadFile(parameter_path);
  if (!parameter_bytes.ok()) return parameter_bytes.status();
  absl::StatusOr<std::string_view> parameters =
      Unseal(parameter_path, kParameterMagic, *parameter_bytes);
  if (!parameters.ok()) return parameters.status();
  if (parameters->size() != parsed->parameter_bytes ||
      Crc32c(*parameters) != parsed->parameter_crc) {
    return absl::DataLossError(
        absl::StrCat(parameter_path, ": does not belong to ", program_path));
  }
  try {
    absl::Status s = FillParameters(parameter_path, *parameters, parsed->slices,
                                    *parsed->module.program);
    if (!s.ok()) return s;
  } catch (const Error& e) {
    return absl::Status(e.code(), absl::StrCat(parameter_path, ": ", e.what()));
  }
  if (absl::Status s = VerifyModule(parsed->module); !s.ok()) {
    return In(program_path, s);
  }
  return std::move(parsed->module);
}

}  // namespace proa::inline v0::jit
