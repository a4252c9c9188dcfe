#include "client/python/calls.h"

#include <pybind11/stl.h>

#include <string>

namespace py = pybind11;

namespace plov::python {

namespace {

// Calls `make` with the item, whose bytes stay until it returns. None when there is none.
py::object Get(PyClient* client, py::handle key, auto&& make) {
  const PyClient::Call call(client);
  const Bytes bytes(key, "a key");
  auto result = call->TryGet(bytes.view());
  if (!result) {
    const py::gil_scoped_release release;
    result.emplace(call->Get(bytes.view()));
  }
  if (!*result) Raise(result->error(), key);
  const std::optional<Item>& item = **result;
  if (!item) return py::none();
  return make(*item);
}

PyObject* GetValue(PyObject* self, PyObject* key) noexcept {
  return Guarded([&] {
    const auto value = [](const Item& item) -> py::object { return ToBytes(item.value); };
    return Get(&py::cast<PyClient&>(py::handle(self)), key, value).release().ptr();
  });
}

py::object GetItem(PyClient& client, py::handle key) {
  return Get(&client, key, [](const Item& item) { return ItemOf(item); });
}

std::pair<double, double> Time(PyClient& client, py::handle key) {
  const Bytes bytes(key, "a key");
  const ServerTime time = Blocking(
      &client, [&](plov::Client* call) { return call->Time(bytes.view()); }, key);
  constexpr double kUsPerSecond = 1e6;
  return {static_cast<double>(time.earliest_us) / kUsPerSecond,
          static_cast<double>(time.latest_us) / kUsPerSecond};
}

double Age(PyClient& client, py::handle key) {
  const Bytes bytes(key, "a key");
  const auto age = Blocking(
      &client, [&](plov::Client* call) { return call->Age(bytes.view()); }, key);
  return std::chrono::duration<double>(age).count();
}

Version Put(PyClient& client, py::handle key, py::handle value, py::handle ttl, uint32_t flags,
            py::handle only_if, py::handle only_if_value) {
  PutOptions options = PutOptionsOf(ttl, flags, only_if);
  const auto expected = Expect(only_if_value, &options);
  return PutWith(&client, key, value, options);
}

bool Delete(PyClient& client, py::handle key, py::handle only_if) {
  const Version version = VersionOf(only_if);
  const Bytes bytes(key, "a key");
  return Blocking(
      &client, [&](plov::Client* call) { return call->Delete(bytes.view(), version); }, key);
}

double Ping(PyClient& client) {
  const auto trip = Blocking(&client, [](plov::Client* call) { return call->Ping(); });
  return std::chrono::duration<double>(trip).count();
}

py::dict DictOf(const ClientStats& stats) {
  py::dict dict;
#define PLOV_STAT(name) dict[#name] = stats.name
  PLOV_STAT(gets);
  PLOV_STAT(hits);
  PLOV_STAT(puts);
  PLOV_STAT(reads);
  PLOV_STAT(bucket_reads);
  PLOV_STAT(record_reads);
  PLOV_STAT(known_reads);
  PLOV_STAT(known_misses);
  PLOV_STAT(torn_buckets);
  PLOV_STAT(torn_records);
  PLOV_STAT(confirmations);
  PLOV_STAT(restarts);
  PLOV_STAT(fallbacks);
  PLOV_STAT(corrupt);
  PLOV_STAT(reconnects);
  PLOV_STAT(retries);
  PLOV_STAT(refreshes);
  PLOV_STAT(late_reads);
  PLOV_STAT(map_fetches);
  PLOV_STAT(deposed_gets);
  PLOV_STAT(deposed_stale);
  PLOV_STAT(lives);
#undef PLOV_STAT
  return dict;
}

// A dictionary for each shard, of its lines "name value".
py::list ServerStats(PyClient& client) {
  py::list shards;
  for (const std::string& text :
       Blocking(&client, [](plov::Client* call) { return call->ServerStats(); })) {
    py::dict shard;
    for (const auto& line : py::str(text).attr("splitlines")()) {
      const py::tuple parts = line.attr("partition")(" ");
      shard[parts[0]] = parts[2];
    }
    shards.append(shard);
  }
  return shards;
}

// By the C API, which calls a method at once: pybind11 takes 60 ns to find out which overload the
// arguments are for, beside the 160 ns that all of a GET takes.
void AddGet(ClientType* type) {
  static PyMethodDef get = {"get", &GetValue, METH_O,
                            "get($self, key, /)\n--\n\nThe value of a key, or None."};
  auto* of = static_cast<PyTypeObject*>(static_cast<void*>(type->ptr()));
  const auto method = py::reinterpret_steal<py::object>(PyDescr_NewMethod(of, &get));
  if (!method) throw py::error_already_set();
  type->attr("get") = method;
}

// Null while it is being made.
PyClient* Held(PyObject* self) {
  auto* instance = static_cast<py::detail::instance*>(static_cast<void*>(self));
  return instance->get_value_and_holder().value_ptr<PyClient>();
}

// A callback that refers to its client keeps it alive; the collector of cycles has to see that.
void AddCollection(PyHeapTypeObject* heap_type) {
  PyTypeObject* type = &heap_type->ht_type;
  RefuseNew(heap_type);
  type->tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const PyClient* client = Held(self);
    return client == nullptr ? 0 : client->Traverse(visit, arg);
  };
  type->tp_clear = [](PyObject* self) {
    if (PyClient* client = Held(self)) client->ClearCallbacks();
    return 0;
  };
}

}  // namespace

Version VersionOf(py::handle only_if) {
  if (only_if.is_none()) return 0;
  if (PyBool_Check(only_if.ptr()) || !PyLong_Check(only_if.ptr())) {
    throw py::type_error("only_if is a version or None");
  }
  const Version version = PyLong_AsUnsignedLongLong(only_if.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw py::value_error("only_if is not a version");
  }
  if (version == 0) throw py::value_error("only_if is not a version: versions begin with 1");
  return version;
}

// A part of a second would become 0, which is for ever.
Lifetime TtlOf(py::handle ttl) {
  if (py::isinstance<Lifetime>(ttl)) return py::cast<Lifetime>(ttl);
  return SecondsOf(ttl, "ttl", "None is for ever");
}

std::chrono::seconds SecondsOf(py::handle given, const char* name, const char* none) {
  if (given.is_none()) return std::chrono::seconds(0);
  if (PyBool_Check(given.ptr()) || !PyLong_Check(given.ptr())) {
    throw py::type_error(std::string(name) + " is whole seconds or None");
  }
  int overflow = 0;
  const long long seconds = PyLong_AsLongLongAndOverflow(given.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && seconds < 1)) {
    throw py::value_error(std::string(name) + " is 1 second or more; " + none);
  }
  return overflow > 0 ? std::chrono::seconds::max() : std::chrono::seconds(seconds);
}

Version PutWith(PyClient* client, py::handle key, py::handle value, const PutOptions& options) {
  const Bytes key_bytes(key, "a key");
  const Bytes value_bytes(value, "a value");
  return Blocking(
      client,
      [&](plov::Client* call) { return call->Put(key_bytes.view(), value_bytes.view(), options); },
      key);
}

PutOptions PutOptionsOf(py::handle ttl, uint32_t flags, py::handle only_if) {
  PutOptions options{.flags = flags, .ttl = TtlOf(ttl)};
  if (!PyUnicode_Check(only_if.ptr())) {
    options.expected_version = VersionOf(only_if);
  } else if (const auto word = py::cast<std::string>(only_if); word == "absent") {
    options.mode = PutMode::kAdd;
  } else if (word == "present") {
    options.mode = PutMode::kReplace;
  } else {
    throw py::value_error("only_if is \"absent\", \"present\", a version or None");
  }
  return options;
}

std::optional<Bytes> Expect(py::handle only_if_value, PutOptions* options) {
  if (only_if_value.is_none()) return std::nullopt;
  std::optional<Bytes> expected(std::in_place, only_if_value, "only_if_value");
  if (options->mode != PutMode::kSet) {
    throw py::value_error("beside only_if_value only a version goes as only_if");
  }
  options->expected_value = expected->view();
  return expected;
}

void RefuseNew(PyHeapTypeObject* heap_type) {
  heap_type->ht_type.tp_new = [](PyTypeObject* type, PyObject*, PyObject*) -> PyObject* {
    return PyErr_Format(PyExc_TypeError, "a %s is made by plov.connect or Client.scan",
                        type->tp_name);
  };
}

void RefuseCopy(py::handle self) {
  PyErr_Format(PyExc_TypeError, "a %s is not to be copied or pickled",
               Py_TYPE(self.ptr())->tp_name);
  throw py::error_already_set();
}

void DefineUntil(py::module_* module) {
  py::class_<Lifetime>(*module, "Until", "As a ttl: until this second of the server's clock.")
      .def(py::init([](uint32_t expiry) { return Lifetime::Until(expiry); }), py::arg("expiry"))
      .def("__repr__", [](const Lifetime& lifetime) {
        return "plov.Until(" + std::to_string(lifetime.expiry()) + ")";
      });
}

ClientType DefineClient(py::module_* module) {
  return ClientType(*module, "Client", py::custom_type_setup(&AddCollection));
}

void DefineCalls(ClientType* type) {
  using py::arg;
  AddGet(type);
  type->def("item", &GetItem, arg("key"), "Value, version, flags and expiry of a key, or None.");
  type->def("age", &Age, arg("key"), "How many seconds old at most is what a get() finds now.");
  type->def("time", &Time, arg("key"),
            "What the server's clock may show now: earliest and latest, in Unix seconds.");
  type->def("put", &Put, arg("key"), arg("value"), py::kw_only(), arg("ttl") = py::none(),
            arg("flags") = 0, arg("only_if") = py::none(), arg("only_if_value") = py::none(),
            "Stores a value and returns its version.");
  type->def("delete", &Delete, arg("key"), py::kw_only(), arg("only_if") = py::none(),
            "Removes a key; whether it was there.");
  type->def("ping", &Ping, "The seconds that a message and its reply take.");
  type->def(
      "sync",
      [](PyClient& self) { Blocking(&self, [](plov::Client* call) { return call->Sync(); }); },
      "Returns when what was acknowledged is durable.");
  type->def(
      "snapshot",
      [](PyClient& self) {
        return py::cast(Blocking(&self, [](plov::Client* call) { return call->Snapshot(); }));
      },
      "Asks for a snapshot of the server's log.");
  type->def("server_stats", &ServerStats, "What each shard of the server says of itself.");
  type->def(
      "stats", [](PyClient& self) { return DictOf(PyClient::Call(&self)->stats()); },
      "What the operations of this client cost, since it was connected.");
  type->def(
      "fileno", [](PyClient& self) { return PyClient::Call(&self)->fd(); },
      "The descriptor that is readable when poll() has something to do.");
  type->def_property_readonly(
      "shard_count", [](PyClient& self) { return PyClient::Call(&self)->shard_count(); },
      "Shards of the server.");
  type->def("close", &PyClient::Close, "Ends what was started; closing twice does nothing.");
  type->def("adopt", &PyClient::Adopt, "Makes the calling thread the client's.");
  type->def("__reduce__", &RefuseCopy);
  type->def("__enter__", [](py::object self) { return self; });
  type->def("__exit__", [](PyClient& self, const py::args&) { self.Close(); });
}

}  // namespace plov::python
