// Commands about the server: INFO, CONFIG GET, COMMAND.

#include <string>
#include <utility>
#include <vector>

#include "door/connection.h"
#include "door/redis/command.h"
#include "door/redis/glob.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

// What clients ask for, as far as there is an answer.
std::vector<std::pair<std::string_view, std::string>> SettingsOf(const Call& call) {
  return {{"appendonly", "no"},
          {"databases", "1"},
          {"maxclients", std::to_string(call.connection()->worker()->admission().limit())},
          {"maxmemory", "0"},
          {"maxmemory-policy", "noeviction"},
          {"proto-max-bulk-len", std::to_string(call.options().item_bytes_max)},
          {"save", ""},
          {"timeout", "0"}};
}

std::string LowerCaseGlob(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// A name is told as it was asked for. Empty: nobody asked.
std::string_view NameAskedFor(const Call& call, std::string_view name) {
  std::string_view shown;
  for (size_t i = 2; i < call.count(); ++i) {
    if (IsWord(call[i], name)) return call[i];
    if (MatchesGlob(LowerCaseGlob(call[i]), name)) shown = name;
  }
  return shown;
}

void ConfigGet(const Call& call) {
  std::string pairs;
  size_t count = 0;
  for (const auto& [name, value] : SettingsOf(call)) {
    const std::string_view shown = NameAskedFor(call, name);
    if (shown.empty()) continue;
    ++count;
    AddBulk(shown, &pairs);
    AddBulk(value, &pairs);
  }
  std::string reply;
  AddMap(call.resp(), count, &reply);
  call.Answer(reply + pairs);
}

}  // namespace

namespace commands {

void Info(Call& call) {
  std::string text;
  if (call.count() == 1) text = call.options().info("default");
  for (size_t i = 1; i < call.count(); ++i) text += call.options().info(LowerCaseGlob(call[i]));
  std::string reply;
  AddText(call.resp(), text, &reply);
  call.Answer(reply);
}

void Config(Call& call) {
  if (!IsWord(call[1], "get")) return call.RefuseSubcommand();
  if (call.count() < 3) return call.RefuseArity("get");
  ConfigGet(call);
}

// Clients do without the descriptions, as with a Redis that has none.
void CommandCommand(Call& call) {
  std::string reply;
  if (call.count() == 1) {
    AddArray(0, &reply);
  } else if (IsWord(call[1], "count")) {
    if (call.count() > 2) return call.RefuseArity("count");
    AddInteger(static_cast<int64_t>(command_count()), &reply);
  } else if (IsWord(call[1], "docs")) {
    AddMap(call.resp(), 0, &reply);
  } else {
    return call.RefuseSubcommand();
  }
  call.Answer(reply);
}

}  // namespace commands

}  // namespace plov::door::redis
