#include "door/redis/command.h"

#include <algorithm>
#include <unordered_map>

#include "door/worker.h"

namespace plov::door::redis {

namespace {

constexpr std::array kCommands = std::to_array<Command>({
    {"append", 3, commands::Append},
    {"auth", -2, commands::Auth},
    {"client", -2, commands::Client},
    {"command", -1, commands::CommandCommand},
    {"config", -2, commands::Config},
    {"dbsize", 1, commands::DbSize, InMulti::kRefused},
    {"decr", 2, commands::Decr},
    {"decrby", 3, commands::DecrBy},
    {"del", -2, commands::Del},
    {"discard", 1, commands::Discard, InMulti::kDone},
    {"echo", 2, commands::Echo},
    {"exec", 1, commands::Exec, InMulti::kDone},
    {"exists", -2, commands::Exists},
    {"expire", -3, commands::Expire},
    {"expireat", -3, commands::ExpireAt},
    {"expiretime", 2, commands::ExpireTime},
    {"flushall", -1, commands::FlushAll, InMulti::kRefused},
    {"flushdb", -1, commands::FlushAll, InMulti::kRefused},
    {"get", 2, commands::Get},
    {"getdel", 2, commands::GetDel},
    {"getex", -2, commands::GetEx},
    {"getrange", 4, commands::GetRange},
    {"getset", 3, commands::GetSet},
    {"hello", -1, commands::Hello},
    {"incr", 2, commands::Incr},
    {"incrby", 3, commands::IncrBy},
    {"incrbyfloat", 3, commands::IncrByFloat},
    {"info", -1, commands::Info},
    {"keys", 2, commands::Keys, InMulti::kRefused},
    {"mget", -2, commands::MGet},
    {"mset", -3, commands::MSet},
    {"msetnx", -3, commands::MSetNx},
    {"multi", 1, commands::Multi, InMulti::kDone},
    {"persist", 2, commands::Persist},
    {"pexpire", -3, commands::PExpire},
    {"pexpireat", -3, commands::PExpireAt},
    {"pexpiretime", 2, commands::PExpireTime},
    {"ping", -1, commands::Ping},
    {"psetex", 4, commands::PSetEx},
    {"pttl", 2, commands::PTtl},
    {"quit", -1, commands::Quit, InMulti::kDone},
    {"randomkey", 1, commands::RandomKey, InMulti::kRefused},
    {"reset", 1, commands::Reset, InMulti::kDone},
    {"scan", -2, commands::Scan, InMulti::kRefused},
    {"select", 2, commands::Select},
    {"set", -3, commands::Set},
    {"setex", 4, commands::SetEx},
    {"setnx", 3, commands::SetNx},
    {"setrange", 4, commands::SetRange},
    {"strlen", 2, commands::StrLen},
    {"substr", 4, commands::GetRange},
    {"ttl", 2, commands::Ttl},
    {"type", 2, commands::Type},
    {"unlink", -2, commands::Del},
    {"unwatch", 1, commands::Unwatch},
    {"watch", -2, commands::Watch, InMulti::kDone},
});

constexpr size_t kNameMax = 16;

char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool IsWord(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {}, LowerCase, LowerCase);
}

bool Command::Takes(size_t count) const {
  return arity < 0 ? count >= static_cast<size_t>(-arity) : count == static_cast<size_t>(arity);
}

std::string UpperCaseOf(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

size_t command_count() { return kCommands.size(); }

const Command* FindCommand(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const Command*> by_name;
    for (const Command& command : kCommands) by_name[command.name] = &command;
    return by_name;
  }();
  std::array<char, kNameMax> lower;
  if (name.size() > lower.size()) return nullptr;
  std::ranges::transform(name, lower.begin(), LowerCase);
  const auto found = kByName.find(std::string_view(lower.data(), name.size()));
  return found == kByName.end() ? nullptr : found->second;
}

}  // namespace plov::door::redis
