#include "python/core/streams.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "ops/infer.h"
#include "python/core/casters.h"
#include "python/core/constructor.h"
#include "python/core/gil.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/place.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

Place PlaceOr(std::optional<Place> place) {
  return place ? *place : ops::infer::DefaultPlace();
}

// A stream of its own, or (`handle`) one that the runtime has.
class Stream {
 public:
  explicit Stream(Place place)
      : place_(place),
        owned_(true),
        handle_(RuntimeOf(place).CreateStream(place.index)) {}
  Stream(Place place, StreamHandle handle)
      : place_(place), owned_(false), handle_(handle) {}
  ~Stream() {
    if (!owned_) return;
    const GilRelease release;  // waits for its work, which may need Python
    RuntimeOf(place_).DestroyStream(place_.index, handle_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Place place() const { return place_; }
  StreamHandle handle() const { return handle_; }
  DeviceRuntime& runtime() const { return RuntimeOf(place_); }
  void Synchronize() const {
    const GilRelease release;
    runtime().SynchronizeStream(place_.index, handle_);
  }

 private:
  const Place place_;
  const bool owned_;
  const StreamHandle handle_;
};

class Event {
 public:
  explicit Event(Place place)
      : place_(place), handle_(RuntimeOf(place).CreateEvent(place.index)) {}
  ~Event() { RuntimeOf(place_).DestroyEvent(place_.index, handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void Record(const Stream& stream) {
    Require(stream.place(), "record");
    RuntimeOf(place_).RecordEvent(place_.index, handle_, stream.handle());
    recorded_ = true;
  }
  // An event that nobody has recorded is behind nothing: it is done.
  bool Done() const {
    return !recorded_ || RuntimeOf(place_).EventDone(place_.index, handle_);
  }
  void Synchronize() const {
    if (!recorded_) return;
    const GilRelease release;
    RuntimeOf(place_).SynchronizeEvent(place_.index, handle_);
  }
  void Delay(const Stream& stream) const {
    Require(stream.place(), "wait_event");
    if (!recorded_) return;
    RuntimeOf(place_).StreamWaitEvent(place_.index, stream.handle(), handle_);
  }
  double ElapsedMs(const Event& end) const {
    end.Require(place_, "elapsed_time");
    PROA_REQUIRE(recorded_ && end.recorded_,
                 "elapsed_time: both events must have been recorded");
    return RuntimeOf(place_).ElapsedMs(place_.index, handle_, end.handle_);
  }

 private:
  void Require(Place other, const char* call) const {
    PROA_REQUIRE(other == place_, call, ": the event is on ", ToString(place_),
                 ", and the other is on ", ToString(other));
  }

  const Place place_;
  const EventHandle handle_;
  bool recorded_ = false;
};

// A StreamScope as a `with` statement.
class StreamGuard {
 public:
  explicit StreamGuard(py::object stream)
      : kept_(std::move(stream)), stream_(kept_.cast<const Stream&>()) {}
  void Enter() { scope_.emplace(stream_.place(), stream_.handle()); }
  void Exit() { scope_.reset(); }

 private:
  const py::object kept_;
  const Stream& stream_;
  std::optional<StreamScope> scope_;
};

}  // namespace

void BindStreams(py::module_& m) {
  const auto place = py::arg("place") = py::none();
  py::class_<Stream>(m, "Stream",
                     "A queue of work of a device, done in its order.")
      .def("__init__",
           Constructor<std::optional<Place>>([](std::optional<Place> p) {
             return std::make_unique<Stream>(PlaceOr(p));
           }),
           kIsConstructor, place)
      .def_property_readonly("place", &Stream::place)
      .def_property_readonly("handle",
                             [](const Stream& s) {
                               return reinterpret_cast<uintptr_t>(s.handle());
                             })
      .def("synchronize", &Stream::Synchronize);
  py::class_<Event>(m, "Event", "A point in a stream.")
      .def("__init__",
           Constructor<std::optional<Place>>([](std::optional<Place> p) {
             return std::make_unique<Event>(PlaceOr(p));
           }),
           kIsConstructor, place)
      .def("record", &Event::Record, py::arg("stream"))
      .def("query", &Event::Done)
      .def("synchronize", &Event::Synchronize)
      .def("delay", &Event::Delay, py::arg("stream"),
           "What the stream is given from now on waits for the event.")
      .def("elapsed_ms", &Event::ElapsedMs, py::arg("end"));
  py::class_<StreamGuard>(m, "StreamGuard",
                          "with StreamGuard(stream): the work of this thread "
                          "on the stream's device goes to it.")
      .def("__init__", Constructor<py::object>([](py::object stream) {
             return std::make_unique<StreamGuard>(std::move(stream));
           }),
           kIsConstructor, py::arg("stream"))
      .def("__enter__", [](StreamGuard& s) { s.Enter(); })
      .def("__exit__", [](StreamGuard& s, const py::args&) { s.Exit(); });
  m.def(
      "current_stream",
      [](std::optional<Place> p) {
        const Place at = PlaceOr(p);
        return std::make_unique<Stream>(at,
                                        RuntimeOf(at).current_stream(at.index));
      },
      place, "The stream that this thread works on.");
}

}  // namespace proa::inline v0::python
