// get and mget.

#include <fmt/core.h>

#include <iterator>

#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/lines.h"
#include "client/cli/options.h"

namespace plov::cli {

namespace {

void WriteItem(const Options& options, std::string_view key, const Item& item,
               program::Output* output) {
  if (options.json) return output->Write(program::LineOf(JsonOf(key, item)));
  std::string line;
  AppendLine(key, item.value, &line);
  output->Write(line);
}

void WriteMissing(const Options& options, std::string_view key, program::Output* output) {
  if (!options.json) return;
  program::Json object = program::Json::object();
  AddBytes("key", key, &object);
  object["found"] = false;
  output->Write(program::LineOf(object));
}

std::string InAll(size_t missing, size_t all) {
  return fmt::format("{} of {} keys {} not there", missing, all, missing == 1 ? "is" : "are");
}

}  // namespace

Outcome Get(const Options& options, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  const auto hit = client->Get(key);
  if (!hit) return std::unexpected(hit.error());
  if (!*hit) {
    WriteMissing(options, key, output);
    return Fail(Code::kNotFound, fmt::format("no item has the key '{}'", key));
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
  for (const std::string& key : options.words) {
    if (auto good = CheckKey(key); !good) return good;
  }
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  size_t missing = 0;
  for (const std::string& key : options.words) {
    const auto hit = client->Get(key);
    if (!hit) return std::unexpected(hit.error());
    if (*hit) {
      WriteItem(options, key, **hit, output);
    } else {
      WriteMissing(options, key, output);
      ++missing;
    }
  }
  if (missing == 0) return {};
  return Fail(Code::kNotFound, InAll(missing, options.words.size()));
}

}  // namespace plov::cli
