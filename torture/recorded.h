// Recorded: a history that somebody else recorded, read from a file.
//
// Jepsen's history.edn: one map for each event, or a vector of them, in the order in which they
// happened. An :invoke begins an operation of its :process, :ok, :fail or :info ends it. What :info
// ends, and what nothing ends, may have taken effect or may do so at any time after its start; what
// :fail ends has not happened.
//
//   :f          :value                of
//   :read :get  what was read         an :ok; nil and :absent are absence
//   :write :put what is written
//   :delete     nothing
//   :cas        [expected new]
//
// Values are [key value] where the history is of several keys (jepsen.independent), or the map has
// a :key. Of processes that are not numbers (:nemesis) only events with the :f :kill are looked at:
// the store was killed then.
//
// Our own JSON (torture/report.h, Json): an object or a list of objects with "operations". With
// versions, which a store told with every write, the history is checked by them
// (torture/history.h); without, "expected" of PUT-IF and DELETE-IF is a value. "kills" and "commit"
// are those of torture/durability.h.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "torture/durability.h"
#include "torture/register_history.h"
#include "verify/error.h"

namespace plov::torture {

// An operation as it stands in the file.
struct RecordedCall {
  std::string process;
  std::string call;    // "write 5"
  std::string result;  // "ok", "4", "unknown"
  size_t line = 0;
};

struct RecordedKey {
  std::string name;
  std::vector<RegisterCall> calls = {};    // `source` is an index of Recorded::calls
  std::vector<Operation> operations = {};  // instead, when the store told versions
  Initial initial = Initial::kAbsent;      // of these
  std::vector<Restart> restarts = {};      // of the store that was killed
  std::optional<Commit> commit = {};       // where the file says it
};

struct Recorded {
  std::vector<RecordedKey> keys;
  std::vector<RecordedCall> calls;
};

// Errors: kSystem, the file cannot be read; kInvalidArgument, "LINE: what is wrong".
std::expected<Recorded, Error> ReadRecorded(const std::string& path);

std::expected<Recorded, Error> ParseEdnHistory(std::string_view text);
std::expected<Recorded, Error> ParseJsonHistory(std::string_view text);

}  // namespace plov::torture
