#include "server/settings.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <span>

#include "server/description.h"
#include "server/descriptors.h"
#include "server/host_memory.h"

namespace plov::server {

namespace {

using Applied = std::expected<void, Error>;

struct Setting {
  const char* name;  // the option's
  std::string (*shown)(const Options& options);
  void (*take)(Options* options, const Options& from);
  // Makes it so: `options` has the new value.
  Applied (*apply)(Server* server, const Options& options);
};

// One whose value is where `field` of Options has it.
template <auto field>
constexpr Setting SettingOf(const char* name, Applied (*apply)(Server*, const Options&)) {
  return {name, [](const Options& options) { return fmt::to_string(field(options)); },
          [](Options* options, const Options& from) { field(*options) = field(from); }, apply};
}

Applied ApplyLogLevel(Server*, const Options& options) {
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  return {};
}

Applied ApplySpin(Server* server, const Options& options) {
  server->SetSpin(options.server.spin_us);
  return {};
}

Applied ApplyClients(Server* server, const Options& options) {
  server->SetClientLimits({.clients = options.server.clients_max,
                           .clients_per_user = options.server.clients_per_user_max});
  const std::string warning = RaiseDescriptorLimit(options.server);
  if (!warning.empty()) spdlog::warn("{}", warning);
  return {};
}

Applied ApplySnapshots(Server* server, const Options& options) {
  server->SetSnapshots(options.server.log.snapshots);
  return {};
}

Applied ApplyMemory(Server* server, const Options& options) {
  if (auto raised = server->RaiseMemory(options.server.memory_bytes); !raised) return raised;
  const std::string warning =
      WarnOfHostMemory(options.server, server->facts().memory_committed_bytes);
  if (!warning.empty()) spdlog::warn("{}", warning);
  return {};
}

Applied ApplySlowWrite(Server* server, const Options& options) {
  server->KeepSlow(options.server.slow_write);
  return {};
}

std::string ShownSlowWrite(const Options& options) {
  if (options.server.slow_write == kSlowWriteOff) return "off";
  return fmt::format("{}us", options.server.slow_write.count());
}

constexpr auto kLogLevel = [](auto& options) -> auto& { return options.log_level; };
constexpr auto kClients = [](auto& options) -> auto& { return options.server.clients_max; };
constexpr auto kOfUserMax = [](auto& options) -> auto& {
  return options.server.clients_per_user_max;
};
constexpr auto kMemory = [](auto& options) -> auto& { return options.server.memory_bytes; };
constexpr auto kKeep = [](auto& options) -> auto& { return options.server.log.snapshots.keep; };
constexpr auto kRate = [](auto& options) -> auto& {
  return options.server.log.snapshots.rate_bytes;
};
constexpr auto kSpin = [](auto& options) -> auto& { return options.server.spin_us; };
constexpr auto kSlowWrite = [](auto& options) -> auto& { return options.server.slow_write; };

constexpr Setting kSettings[] = {
    SettingOf<kLogLevel>("log-level", ApplyLogLevel),
    SettingOf<kClients>("max-clients", ApplyClients),
    SettingOf<kOfUserMax>("max-clients-per-user", ApplyClients),
    SettingOf<kMemory>("memory", ApplyMemory),
    {"slow-write", ShownSlowWrite,
     [](Options* options, const Options& from) { kSlowWrite(*options) = kSlowWrite(from); },
     ApplySlowWrite},
    SettingOf<kKeep>("snapshot-keep", ApplySnapshots),
    SettingOf<kRate>("snapshot-rate", ApplySnapshots),
    SettingOf<kSpin>("spin-us", ApplySpin),
};

const Setting* Find(const std::string& name) {
  const auto* found =
      std::ranges::find_if(kSettings, [&name](const Setting& one) { return one.name == name; });
  return found == std::end(kSettings) ? nullptr : found;
}

void AddTo(std::string* list, std::string_view one) {
  list->append(list->empty() ? "" : ", ").append(one);
}

std::unexpected<Error> NoSuch(const std::string& name) {
  std::string names;
  for (const Setting& setting : kSettings) AddTo(&names, setting.name);
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' cannot change while plovd runs: it is none of {}", name, names));
}

// What was given for one and not, or otherwise, for the other, and needs a restart.
std::string FixedDifferences(const Options& one, const Options& other) {
  std::set<std::string> names;
  for (const auto& [these, those] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    for (const auto& [option, text] : these->given) {
      const auto found = those->given.find(option);
      const bool differs = found == those->given.end() || found->second != text;
      if (differs && Find(option) == nullptr) names.insert(option);
    }
  }
  std::string list;
  for (const std::string& name : names) AddTo(&list, name);
  return list;
}

}  // namespace

std::expected<std::string, Error> Settings::Get(const std::string& name) const {
  if (!name.empty() && Find(name) == nullptr) return NoSuch(name);
  std::string text;
  for (const Setting& setting : kSettings) {
    if (!name.empty() && name != setting.name) continue;
    text += fmt::format("{} {}\n", setting.name, setting.shown(now_));
  }
  if (name.empty() && now_.server.cluster) text += ClusterLines(now_.server);
  return text;
}

Applied Settings::Set(const std::string& name, const std::string& value) {
  const Setting* setting = Find(name);
  if (setting == nullptr) return NoSuch(name);
  const auto parsed = ParseOption(now_, name, value);
  if (!parsed) return std::unexpected(parsed.error());
  Options wanted = now_;
  setting->take(&wanted, *parsed);
  if (auto applied = setting->apply(server_, wanted); !applied) return applied;
  now_ = std::move(wanted);
  spdlog::info("{} is {} now", name, setting->shown(now_));
  return {};
}

void Settings::Reload() {
  const auto fresh = ParseOptions(argc_, argv_);
  if (!fresh) {
    return spdlog::error("the options were read again, and nothing was changed: {}",
                         fresh.error().message);
  }
  std::string left = FixedDifferences(read_, *fresh);
  size_t changed = 0;
  for (const Setting& setting : kSettings) {
    const std::string value = setting.shown(*fresh);
    if (value == setting.shown(read_) || value == setting.shown(now_)) continue;
    const auto set = Set(setting.name, value);
    if (!set) AddTo(&left, fmt::format("{} ({})", setting.name, set.error().message));
    changed += set ? 1 : 0;
  }
  read_ = *fresh;
  spdlog::info("the options were read again: {} changed", changed);
  if (!left.empty()) spdlog::warn("plovd must be restarted to change {}", left);
}

}  // namespace plov::server
