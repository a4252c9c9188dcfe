#include "client/python/modifications.h"

#include <string>

namespace py = pybind11;

namespace plov::python {

namespace {

[[noreturn]] void RaiseRange(const char* name, const char* range) {
  PyErr_Format(PyExc_ValueError, "%s is %s", name, range);
  throw py::error_already_set();
}

// An integer; of unsigned modes what has its bits. Throws TypeError and ValueError.
int64_t BitsOf(py::handle integer, const char* name, NumberMode mode) {
  if (PyBool_Check(integer.ptr()) || !PyLong_Check(integer.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s is an integer, not %s", name,
                 Py_TYPE(integer.ptr())->tp_name);
    throw py::error_already_set();
  }
  const bool is_signed = mode == NumberMode::kSigned;
  const int64_t bits = is_signed ? PyLong_AsLongLong(integer.ptr())
                                 : static_cast<int64_t>(PyLong_AsUnsignedLongLong(integer.ptr()));
  if (PyErr_Occurred() == nullptr) return bits;
  PyErr_Clear();
  RaiseRange(name, is_signed ? "-2**63 to 2**63-1" : "0 to 2**64-1 in this mode");
}

NumberMode NumberModeOf(const std::string& word) {
  if (word == "signed") return NumberMode::kSigned;
  if (word == "unsigned_add") return NumberMode::kUnsignedAdd;
  if (word == "unsigned_subtract") return NumberMode::kUnsignedSubtract;
  throw py::value_error("mode is \"signed\", \"unsigned_add\" or \"unsigned_subtract\"");
}

// A write's common arguments, as Python says them.
struct Common {
  py::handle ttl;
  uint32_t flags;
  py::handle only_if;
};

// How an increment counts, as Python says it.
struct Counting {
  const std::string& mode;
  py::handle initial;
  py::handle min;
  py::handle max;
};

IncrementOptions IncrementOptionsOf(const Counting& counting, const Common& common) {
  IncrementOptions options{.mode = NumberModeOf(counting.mode),
                           .expected_version = VersionOf(common.only_if),
                           .flags = common.flags,
                           .ttl = TtlOf(common.ttl)};
  if (!counting.initial.is_none()) {
    options.initial = BitsOf(counting.initial, "initial", options.mode);
  }
  const bool is_limited = !counting.min.is_none() || !counting.max.is_none();
  if (is_limited && options.mode != NumberMode::kSigned) {
    throw py::value_error("min and max are for mode=\"signed\"");
  }
  if (!counting.min.is_none()) options.min = BitsOf(counting.min, "min", options.mode);
  if (!counting.max.is_none()) options.max = BitsOf(counting.max, "max", options.mode);
  return options;
}

enum class End : uint8_t { kBack, kFront };

PutOptions JoinOptionsOf(End end, bool create, const Common& common) {
  PutOptions options{.expected_version = VersionOf(common.only_if),
                     .flags = common.flags,
                     .ttl = TtlOf(common.ttl)};
  if (end == End::kBack) {
    options.mode = create ? PutMode::kAppendOrAdd : PutMode::kAppend;
  } else {
    options.mode = create ? PutMode::kPrependOrAdd : PutMode::kPrepend;
  }
  return options;
}

template <End end>
Version Join(PyClient& client, py::handle key, py::handle value, bool create, py::handle ttl,
             uint32_t flags, py::handle only_if) {
  return PutWith(&client, key, value, JoinOptionsOf(end, create, {ttl, flags, only_if}));
}

template <End end>
void StartJoin(PyClient& client, py::handle key, py::handle value, py::object done, bool create,
               py::handle ttl, uint32_t flags, py::handle only_if) {
  client.StartPut(key, value, JoinOptionsOf(end, create, {ttl, flags, only_if}), std::move(done));
}

py::int_ Increment(PyClient& client, py::handle key, py::handle delta, const std::string& mode,
                   py::handle initial, py::handle min, py::handle max, py::handle ttl,
                   uint32_t flags, py::handle only_if) {
  const IncrementOptions options =
      IncrementOptionsOf({mode, initial, min, max}, {ttl, flags, only_if});
  const int64_t bits = BitsOf(delta, "delta", options.mode);
  const Bytes bytes(key, "a key");
  const Number number = Blocking(
      &client, [&](plov::Client* call) { return call->Increment(bytes.view(), bits, options); },
      key);
  return IntegerOf(number, options.mode);
}

void StartIncrement(PyClient& client, py::handle key, py::handle delta, py::object done,
                    const std::string& mode, py::handle initial, py::handle min, py::handle max,
                    py::handle ttl, uint32_t flags, py::handle only_if) {
  const IncrementOptions options =
      IncrementOptionsOf({mode, initial, min, max}, {ttl, flags, only_if});
  client.StartIncrement(key, BitsOf(delta, "delta", options.mode), options, std::move(done));
}

Version Touch(PyClient& client, py::handle key, py::handle ttl, py::handle only_if) {
  const Lifetime lifetime = TtlOf(ttl);
  const Version version = VersionOf(only_if);
  const Bytes bytes(key, "a key");
  return Blocking(
      &client, [&](plov::Client* call) { return call->Touch(bytes.view(), lifetime, version); },
      key);
}

py::object GetAndTouch(PyClient& client, py::handle key, py::handle ttl) {
  const Lifetime lifetime = TtlOf(ttl);
  const Bytes bytes(key, "a key");
  const PyClient::Call call(&client);
  const auto got = [&] {
    const py::gil_scoped_release release;
    return call->GetAndTouch(bytes.view(), lifetime);
  }();
  if (!got) Raise(got.error(), key);
  if (!*got) return py::none();
  return ToBytes((*got)->value);
}

std::chrono::seconds DelayOf(py::handle delay) { return SecondsOf(delay, "delay", "None is now"); }

uint64_t Flush(PyClient& client, py::handle delay) {
  const std::chrono::seconds seconds = DelayOf(delay);
  return Blocking(&client, [&](plov::Client* call) { return call->Flush(seconds); });
}

void DefineBlocking(ClientType* type) {
  using py::arg;
  type->def("append", &Join<End::kBack>, arg("key"), arg("value"), py::kw_only(),
            arg("create") = false, arg("ttl") = py::none(), arg("flags") = 0,
            arg("only_if") = py::none(), "Adds to the end of a value; the new one's version.");
  type->def("prepend", &Join<End::kFront>, arg("key"), arg("value"), py::kw_only(),
            arg("create") = false, arg("ttl") = py::none(), arg("flags") = 0,
            arg("only_if") = py::none(),
            "Adds to the beginning of a value; the new one's version.");
  type->def("increment", &Increment, arg("key"), arg("delta") = 1, py::kw_only(),
            arg("mode") = "signed", arg("initial") = py::none(), arg("min") = py::none(),
            arg("max") = py::none(), arg("ttl") = py::none(), arg("flags") = 0,
            arg("only_if") = py::none(),
            "Adds to the number that the value is the text of; the new number.");
  type->def("touch", &Touch, arg("key"), arg("ttl"), py::kw_only(), arg("only_if") = py::none(),
            "Gives an item another lifetime; its new version.");
  type->def("get_and_touch", &GetAndTouch, arg("key"), arg("ttl"),
            "The value of a key, which gets another lifetime, or None.");
  type->def("flush", &Flush, py::kw_only(), arg("delay") = py::none(),
            "Deletes every item, now or `delay` seconds from now on; how many.");
}

}  // namespace

void DefineModifications(ClientType* type) {
  using py::arg;
  DefineBlocking(type);
  type->def("start_append", &StartJoin<End::kBack>, arg("key"), arg("value"), arg("done"),
            py::kw_only(), arg("create") = false, arg("ttl") = py::none(), arg("flags") = 0,
            arg("only_if") = py::none(),
            "Starts an append; poll() calls done(version, exception).");
  type->def("start_prepend", &StartJoin<End::kFront>, arg("key"), arg("value"), arg("done"),
            py::kw_only(), arg("create") = false, arg("ttl") = py::none(), arg("flags") = 0,
            arg("only_if") = py::none(),
            "Starts a prepend; poll() calls done(version, exception).");
  type->def("start_increment", &StartIncrement, arg("key"), arg("delta"), arg("done"),
            py::kw_only(), arg("mode") = "signed", arg("initial") = py::none(),
            arg("min") = py::none(), arg("max") = py::none(), arg("ttl") = py::none(),
            arg("flags") = 0, arg("only_if") = py::none(),
            "Starts an increment; poll() calls done(number, exception).");
  type->def(
      "start_touch",
      [](PyClient& self, py::handle key, py::handle ttl, py::object done, py::handle only_if) {
        self.StartTouch(key, TtlOf(ttl), VersionOf(only_if), std::move(done));
      },
      arg("key"), arg("ttl"), arg("done"), py::kw_only(), arg("only_if") = py::none(),
      "Starts a touch; poll() calls done(version, exception).");
  type->def(
      "start_flush",
      [](PyClient& self, py::object done, py::handle delay) {
        self.StartFlush(DelayOf(delay), std::move(done));
      },
      arg("done"), py::kw_only(), arg("delay") = py::none(),
      "Starts a flush; poll() calls done(deleted, exception).");
}

}  // namespace plov::python
