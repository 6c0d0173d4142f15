// Readers of model files, given right files that were changed: what they say of
// them is an error of the kinds that are documented, or a module; in no more
// time and memory than such a small file may take.
//
//   model_files SEEDS FOLDER NOTE READER SEED FIRST COUNT
//
// SEEDS: of each right model the program and its parameters, each a number of
// bytes (uint64) and the bytes. FOLDER: for files. NOTE: where the number of
// the file that is read now stands, for who sees this process die. The last
// line says what was read. With --show in place of COUNT: one file, what came
// of it, and its bytes in FOLDER. model_files.py starts it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "fuzz/wire.h"
#include "jit/file_bytes.h"
#include "jit/program_file.h"
#include "jit/reference/import.h"
#include "jit/reference/load.h"
#include "tensor/allocator.h"
#include "tensor/device.h"
#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::inline v0::fuzz {
namespace {

constexpr int kSeconds = 20;                     // of the processor, for a file
constexpr int64_t kGrowth = int64_t{100} << 20;  // bytes, for a file
constexpr int64_t kTensors = int64_t{512} << 20;
constexpr size_t kMagic = 8;

struct Model {
  std::string program, parameters;
  std::optional<Message> message;  // of the program, without an envelope
};

struct Seeds {
  std::vector<Model> models;
  Pool pool;
};

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("there is no " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool IsOurs(const std::string& program) { return program[0] != '\n'; }

Seeds ReadSeeds(const std::string& path) {
  const std::string all = Contents(path);
  size_t at = 0;
  const auto next = [&] {
    uint64_t n = 0;
    std::memcpy(&n, all.data() + at, sizeof n);
    at += sizeof n + n;
    return all.substr(at - n, n);
  };
  Seeds out;
  while (at < all.size()) {
    Model m{next(), next()};
    m.message = ReadMessage(std::string_view(m.program).substr(
        IsOurs(m.program) ? jit::kEnvelopeBytes : 0));
    if (!m.message) Die("a program is no message");
    out.models.push_back(std::move(m));
  }
  for (const Model& m : out.models) out.pool.Add(*m.message);
  return out;
}

// A payload below a checksum that is right.
std::string Sealed(std::string_view magic, const std::string& payload) {
  return jit::Envelope(magic, payload.size(), jit::Crc32c(payload)) + payload;
}

std::string_view MagicOf(const std::string& file) {
  return std::string_view(file).substr(0, kMagic);
}

// Changes ---------------------------------------------------------------------

Message ChangedMessage(const Message& right, const Seeds& seeds, Random& r) {
  Message m = right;
  const uint64_t changes = 1 + (r.Percent(40) ? r.Below(4) : 0);
  for (uint64_t i = 0; i < changes; ++i) ChangeMessage(m, seeds.pool, r);
  return m;
}

void ChangeProgram(Model& m, const Seeds& seeds, Random& r) {
  const bool ours = IsOurs(m.program);
  if (r.Percent(85)) {
    const std::string changed =
        WriteMessage(ChangedMessage(*m.message, seeds, r));
    m.program = ours ? Sealed(MagicOf(m.program), changed) : changed;
  } else if (ours && r.Percent(80)) {
    m.program = Sealed(MagicOf(m.program),
                       ChangeBytes(m.program.substr(jit::kEnvelopeBytes), r));
  } else {
    m.program = ChangeBytes(std::move(m.program), r);
  }
}

// Our parameters are below a checksum that the program says, too.
void ChangeOurParameters(Model& m, Random& r) {
  if (r.Percent(20)) {
    m.parameters = ChangeBytes(std::move(m.parameters), r);
    return;
  }
  const std::string payload = ChangeBytes(
      m.parameters.substr(std::min(m.parameters.size(), jit::kEnvelopeBytes)),
      r);
  m.parameters = Sealed(MagicOf(m.parameters), payload);
  for (Field& f : *m.message) {
    if (f.number == 8) f.value = payload.size();
    if (f.number == 9) f.value = jit::Crc32c(payload);
  }
  m.program = Sealed(MagicOf(m.program), WriteMessage(*m.message));
}

// The description of a tensor begins behind two versions and the levels, and is
// what matters; most other bytes are elements.
void ChangeTensors(std::string& tensors, Random& r) {
  constexpr size_t kHead = 40;
  if (r.Percent(40)) {
    tensors = ChangeBytes(std::move(tensors), r);
    return;
  }
  std::vector<size_t> heads = {0};
  for (size_t at = tensors.find(std::string(16, '\0')); at != tensors.npos;
       at = tensors.find(std::string(16, '\0'), at + 16)) {
    heads.push_back(at);
  }
  const size_t at = r.Of(heads);
  tensors.replace(at, kHead, ChangeBytes(tensors.substr(at, kHead), r));
}

// Readers ---------------------------------------------------------------------

struct Reader {
  std::function<void(Model&, const Seeds&, Random&)> change;
  std::function<absl::Status(const Model&, const std::string& folder, Random&)>
      read;
};

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// From memory; from files, with training, as jit.load reads them, at times.
absl::Status ReadModel(const Model& m, const std::string& folder, Random& r) {
  if (!r.Percent(12)) {
    return jit::reference::ParseAnyModel(m.program, m.parameters).status();
  }
  const jit::reference::ModelFiles files{folder + "/m.pdmodel",
                                         folder + "/m.pdiparams"};
  WriteFile(files.program, m.program);
  WriteFile(files.parameters, m.parameters);
  return jit::reference::LoadAnyModel(files,
                                      r.Percent(50) ? jit::Parameters::kMapped
                                                    : jit::Parameters::kCopied,
                                      jit::Training::kRead)
      .status();
}

absl::Status ReadWhole(const Model& m, const std::string&, Random&) {
  using Tensors = std::vector<Tensor>;
  const jit::reference::Autograd lent = {
      .follow = [](const Tensor& t) { autograd::SetRequiresGrad(t, true); },
      .gradients =
          [](const Tensors& results, const Tensors& arguments,
             const Tensors& grads) {
            return autograd::Grad(results, arguments, grads,
                                  {.retain_graph = true}, true, {});
          }};
  return jit::reference::ParseWholeProgram(m.program, lent, {}).status();
}

absl::Status ReadTensor(const Model& m, const std::string&, Random&) {
  return jit::reference::ParseReferenceTensor(m.parameters, "w").status();
}

const std::map<std::string, Reader>& Readers() {
  static const auto* const readers = new std::map<std::string, Reader>{
      {"program", {ChangeProgram, ReadModel}},
      {"parameters",
       {[](Model& m, const Seeds&, Random& r) { ChangeOurParameters(m, r); },
        ReadModel}},
      {"reference program", {ChangeProgram, ReadModel}},
      {"reference parameters",
       {[](Model& m, const Seeds&, Random& r) {
          ChangeTensors(m.parameters, r);
        },
        ReadModel}},
      {"reference tensor",
       {[](Model& m, const Seeds&, Random& r) {
          ChangeTensors(m.parameters, r);
        },
        ReadTensor}},
      {"whole program", {ChangeProgram, ReadWhole}}};
  return *readers;
}

// Whether an error is one of those that loading is documented to have.
bool IsDocumented(const absl::Status& s) {
  switch (s.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:  // an axis: IndexError and ValueError
    case absl::StatusCode::kResourceExhausted:
      return !s.message().empty();
    default:
      return false;
  }
}

// One file --------------------------------------------------------------------

double ProcessorSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int64_t MostResident() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss << 10;
}

void Hangs(int) {
  constexpr char kText[] = "it reads for too long\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(4);
  _exit(3);
}

// Small ones more often: as much is in them, and they take less time.
const Model& Choose(const Seeds& seeds, Random& r) {
  const Model& a = r.Of(seeds.models);
  const Model& b = r.Of(seeds.models);
  return a.program.size() < b.program.size() ? a : b;
}

Model Changed(const Reader& reader, const Seeds& seeds, Random& r) {
  Model m = Choose(seeds, r);
  reader.change(m, seeds, r);
  return m;
}

// Ends the process for what must not come of a file.
absl::Status Run(const Reader& reader, const Model& model,
                 const std::string& folder, Random& r) {
  const itimerval limit{{0, 0}, {kSeconds, 0}}, none{};
  setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  absl::Status status;
  try {
    status = reader.read(model, folder, r);
  } catch (const std::exception& e) {
    Die(std::string("an exception: ") + e.what());
  }
  setitimer(ITIMER_VIRTUAL, &none, nullptr);
  if (!status.ok() && !IsDocumented(status)) {
    Die("an error that is not documented: " + status.ToString());
  }
  return status;
}

uint64_t* Noted(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(uint64_t)) != 0) Die("no note");
  void* const at = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) Die("no note");
  return static_cast<uint64_t*>(at);
}

int Main(char** argv) {
  const Seeds seeds = ReadSeeds(argv[1]);
  const std::string folder = argv[2];
  uint64_t* const note = Noted(argv[3]);
  const auto found = Readers().find(argv[4]);
  if (found == Readers().end()) Die("there is no such reader");
  const Reader& reader = found->second;
  const uint64_t seed = std::strtoull(argv[5], nullptr, 10);
  const uint64_t first = std::strtoull(argv[6], nullptr, 10);
  const bool show = std::strcmp(argv[7], "--show") == 0;
  const uint64_t count = show ? 1 : std::strtoull(argv[7], nullptr, 10);
  RuntimeOf(Place{}).allocator(0).SetCap(kTensors);
  std::signal(SIGVTALRM, Hangs);
  if (!show) {
    // Right files are read; what is made at a first use is made now.
    for (const Model& m : seeds.models) {
      Random r(0, 0);
      const absl::Status s = reader.read(m, folder, r);
      if (!s.ok()) Die("a right file: " + s.ToString());
    }
  }
  uint64_t read = 0;
  double slowest = 0;
  for (uint64_t i = first; i < first + count; ++i) {
    *note = i;
    const int64_t before = MostResident();
    const double start = ProcessorSeconds();
    Random r(seed, i);
    const Model m = Changed(reader, seeds, r);
    if (show) {
      WriteFile(folder + "/shown.pdmodel", m.program);
      WriteFile(folder + "/shown.pdiparams", m.parameters);
    }
    const absl::Status s = Run(reader, m, folder, r);
    slowest = std::max(slowest, ProcessorSeconds() - start);
    if (!show && MostResident() - before > kGrowth) Die("memory grew");
    read += s.ok();
    if (show) std::printf("%s\n", s.ToString().c_str());
  }
  std::printf("%zu files, read %zu, slowest %.3f s, %zd MiB\n",
              static_cast<size_t>(count), static_cast<size_t>(read), slowest,
              static_cast<ssize_t>(MostResident() >> 20));
  return 0;
}

}  // namespace
}  // namespace proa::inline v0::fuzz

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr,
                 "model_files SEEDS FOLDER NOTE READER SEED FIRST COUNT\n");
    return 2;
  }
  return proa::fuzz::Main(argv);
}
