// get, mget and exists.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
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

// What a GET of one key found.
struct Answer {
  std::string_view key;
  std::optional<Item> item;
  std::optional<std::chrono::microseconds> age;  // at most; none where nobody asks
};

// The age comes first: the item stays until the client's next call.
std::expected<Answer, Error> Ask(const Options& options, Client* client, std::string_view key) {
  Answer answer{.key = key, .item = {}, .age = {}};
  if (options.json && options.read_from == ReadFrom::kAnyReplica) {
    const auto age = client->Age(key);
    if (!age) return std::unexpected(age.error());
    answer.age = *age;
  }
  const Lifetime ttl = options.put.ttl;
  auto hit = ttl.duration().count() == 0 ? client->Get(key) : client->GetAndTouch(key, ttl);
  if (!hit) return std::unexpected(hit.error());
  answer.item = *hit;
  return answer;
}

program::Json JsonOfFound(std::string_view key, bool found) {
  program::Json object = program::Json::object();
  AddBytes("key", key, &object);
  object["found"] = found;
  return object;
}

void WriteJson(const Answer& answer, program::Output* output) {
  program::Json object =
      answer.item ? JsonOf(answer.key, *answer.item) : JsonOfFound(answer.key, false);
  if (answer.age) object["age_us"] = answer.age->count();
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
  const auto answer = Ask(options, *client, key);
  if (!answer) return std::unexpected(answer.error());
  if (options.json) WriteJson(*answer, output);
  if (!answer->item) return NoItem(key);
  if (!options.json) {
    output->Write(answer->item->value);
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
    const auto answer = Ask(options, *client, key);
    if (!answer) return std::unexpected(answer.error());
    if (!answer->item) ++missing;
    if (options.json) {
      WriteJson(*answer, output);
    } else if (answer->item) {
      std::string line;
      AppendLine(key, answer->item->value, &line);
      output->Write(line);
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
  for (size_t i = 0; options.json && i < keys.size(); ++i) {
    output->Write(program::LineOf(JsonOfFound(keys[i], found[i])));
  }
  if (std::ranges::find(found, false) == found.end()) return {};
  return Fail(Code::kNotFound, "");
}

}  // namespace plov::cli
