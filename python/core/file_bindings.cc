// Files that change as a whole, for Python: `_C.AtomicFile`,
// `_C.commit_together`, `_C.staged_path`.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/atomic_file.h"
#include "pybind11/stl.h"
#include "python/core/constructor.h"
#include "python/core/error.h"
#include "python/core/file_status.h"
#include "python/core/gil.h"
#include "python/core/module.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using profiler::AtomicFile;

// Open until it is committed or closed.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) {
    CheckPath(path);
    absl::StatusOr<AtomicFile> file =
        WithoutGil(kWorthReleasing, [&] { return AtomicFile::Create(path); });
    CheckFileStatus(file.status());
    file_ = std::make_unique<AtomicFile>(*std::move(file));
  }

  AtomicFile& file() const {
    if (file_ == nullptr) ThrowPython(PyExc_ValueError, "the file is closed");
    return *file_;
  }

  // `bytes`: an object with a buffer.
  void Write(const py::buffer& bytes) const {
    const Contents contents(bytes);
    CheckFileStatus(WithoutGil(contents.size(), [&] {
      return file_ ? file().Append(contents.view()) : Closed();
    }));
  }
  void WriteAt(int64_t offset, const py::buffer& bytes) const {
    const Contents contents(bytes);
    CheckFileStatus(WithoutGil(contents.size(), [&] {
      return file_ ? file().WriteAt(offset, contents.view()) : Closed();
    }));
  }

  void Commit() {
    AtomicFile& f = file();
    const absl::Status s =
        WithoutGil(kWorthReleasing, [&] { return f.Commit(); });
    file_.reset();
    CheckFileStatus(s);
  }
  void Close() { file_.reset(); }

 private:
  static absl::Status Closed() {
    return absl::InvalidArgumentError("the file is closed");
  }

  // Held while the lock is not.
  class Contents {
   public:
    explicit Contents(const py::buffer& from) {
      CheckStatus(PyObject_GetBuffer(from.ptr(), &buffer_, PyBUF_SIMPLE));
    }
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;
    ~Contents() {
      BeforeGivingBack();
      PyBuffer_Release(&buffer_);
    }
    int64_t size() const { return buffer_.len; }
    std::string_view view() const {
      return {static_cast<const char*>(buffer_.buf),
              static_cast<size_t>(buffer_.len)};
    }

   private:
    Py_buffer buffer_;
  };

  std::unique_ptr<AtomicFile> file_;
};

void CommitTogether(OpenFile& manifest,
                    const std::vector<std::pair<OpenFile*, std::string>>& set) {
  std::vector<profiler::TogetherMember> members;
  for (const auto& [file, key] : set) members.push_back({&file->file(), key});
  AtomicFile& first = manifest.file();
  const absl::Status s = WithoutGil(kWorthReleasing, [&] {
    return profiler::CommitTogether(first, members);
  });
  manifest.Close();
  for (const auto& [file, key] : set) file->Close();
  CheckFileStatus(s);
}

void BindFiles(py::module_& m) {
  py::class_<OpenFile>(m, "AtomicFile",
                       "A file that has its name, and replaces what had it, "
                       "when it is committed; else nothing changes.")
      .def("__init__",
           Constructor<const std::string&>([](const std::string& p) {
             return std::make_unique<OpenFile>(p);
           }),
           kIsConstructor, py::arg("path"))
      .def("write", &OpenFile::Write, py::arg("data"))
      .def("write_at", &OpenFile::WriteAt, py::arg("offset"), py::arg("data"))
      .def("commit", &OpenFile::Commit)
      .def("close", &OpenFile::Close)
      .def(
          "__enter__", [](OpenFile& f) -> OpenFile& { return f; },
          py::return_value_policy::reference_internal)
      .def("__exit__", [](OpenFile& f, const py::args&) { f.Close(); });
  m.def("commit_together", &CommitTogether, py::arg("manifest"),
        py::arg("members"));
  m.def(
      "staged_path",
      [](const std::string& path, const std::string& key) {
        return py::bytes(profiler::StagedPath(path, key));
      },
      py::arg("path"), py::arg("key"));
}

const ModulePart part(&BindFiles);

}  // namespace
}  // namespace proa::inline v0::python
