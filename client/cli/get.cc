// get, mget and exists.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/lines.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace plov::cli {

namespace {

void WriteItem(const Options& options, std::string_view key, const Item& item,
               program::Output* output) {
  if (options.json) return output->Write(program::LineOf(JsonOf(key, item)));
  std::string line;
  AppendLine(key, item.value, &line);
  output->Write(line);
}

struct Found {
  std::string_view key;
  bool found;
};

void WriteFound(const Options& options, const Found& found, program::Output* output) {
  if (!options.json) return;
  program::Json object = program::Json::object();
  AddBytes("key", found.key, &object);
  object["found"] = found.found;
  output->Write(program::LineOf(object));
}

Outcome CheckKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (auto good = CheckKey(key); !good) return good;
  }
  return {};
}

std::string InAll(size_t missing, size_t all) {
  return fmt::format("{} of {} keys {} not there", missing, all, missing == 1 ? "is" : "are");
}

}  // namespace

Outcome Get(const Options& options, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto hit = (*client)->Get(key);
  if (!hit) return std::unexpected(hit.error());
  if (!*hit) {
    WriteFound(options, {key, false}, output);
    return NoItem(key);
  }
  if (options.json) {
    WriteItem(options, key, **hit, output);
  } else {
    output->Write((*hit)->value);
    output->Write("\n");
  }
  return {};
}

// One at a time: each value is written before the next is read, so that memory holds only one.
Outcome GetMany(const Options& options, program::Output* output) {
  if (auto good = CheckKeys(options.words); !good) return good;
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  size_t missing = 0;
  for (const std::string& key : options.words) {
    const auto hit = (*client)->Get(key);
    if (!hit) return std::unexpected(hit.error());
    if (*hit) {
      WriteItem(options, key, **hit, output);
    } else {
      WriteFound(options, {key, false}, output);
      ++missing;
    }
  }
  if (missing == 0) return {};
  return Fail(Code::kNotFound, InAll(missing, options.words.size()));
}

// Many at a time, since no value is kept.
Outcome Exists(const Options& options, program::Output* output) {
  const std::vector<std::string>& keys = options.words;
  if (auto good = CheckKeys(keys); !good) return good;
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  std::vector<bool> found(keys.size());
  Outcome outcome;
  (*client)->GetMany(keys, [&](size_t index, const Client::GetResult& hit) {
    if (hit) {
      found[index] = hit->has_value();
    } else {
      outcome = std::unexpected(hit.error());
    }
  });
  if (!outcome) return outcome;
  for (size_t i = 0; i < keys.size(); ++i) WriteFound(options, {keys[i], found[i]}, output);
  if (std::ranges::find(found, false) == found.end()) return {};
  return Fail(Code::kNotFound, "");
}

}  // namespace plov::cli
