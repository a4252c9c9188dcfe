#include "door/options.h"

#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <sstream>
#include <utility>

#include "door/place.h"
#include "service/given.h"
#include "verify/quantity.h"

namespace plov::door {

namespace {

namespace po = boost::program_options;
using service::Given;

constexpr uint64_t kThreadsMax = 1024;
constexpr uint64_t kClientsMax = 1'000'000;
constexpr uint64_t kMemoryMin = uint64_t{1} << 20;
constexpr uint64_t kMemoryMax = uint64_t{1} << 40;
// plov's largest value, 16 MiB, is within it with all that memcached counts.
constexpr uint64_t kItemMin = 1024;
constexpr uint64_t kItemMax = uint64_t{17} << 20;
constexpr std::chrono::microseconds kTimeoutMax = std::chrono::hours(1);

po::options_description Described() {
  po::options_description options("Options", 100, 70);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  // clang-format off
  options.add_options()
      ("server", text("URI"), "the plov server or cluster behind the door (shm:default)")
      ("memcached", po::value<std::vector<std::string>>()->value_name("HOST:PORT|PATH"), "where to speak memcached's protocol: TCP, or a Unix socket; may be repeated")
      ("memcached-auth-file", text("FILE"), "users of memcached's clients, lines of user:password, read again at SIGHUP; without it they need no password")
      ("redis", po::value<std::vector<std::string>>()->value_name("HOST:PORT|PATH"), "where to speak Redis's protocol, likewise")
      ("threads", text("N"), "threads that serve clients, 0 for as many as processors (0)")
      ("max-clients", text("N"), "clients at a time (10000)")
      ("memory", text("SIZE"), "memory for what clients send and are sent, all together (1G)")
      ("max-item", text("SIZE"), "largest item of a memcached client, as memcached's -I, and largest argument of a Redis client, up to 17M (1M)")
      ("timeout", text("DURATION"), "how long a request may wait for the server (1s)");
  // clang-format on
  service::Options::Describe(&options);
  return options;
}

std::unexpected<Error> Invalid(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message) + " (plov-door --help lists the options)");
}

using Outcome = std::expected<void, Error>;

template <typename Number>
Outcome FillNumber(const Given& given, const char* option, uint64_t least, uint64_t most,
                   Number* to) {
  if (!given.Has(option)) return {};
  const auto& text = given.As<std::string>(option);
  const auto number = ParseSize(text);
  if (!number || *number < least || *number > most) {
    return Invalid(fmt::format("{} '{}' is not a number from {} to {}", given.NameOf(option), text,
                               least, most));
  }
  *to = static_cast<Number>(*number);
  return {};
}

Outcome FillNumbers(const Given& given, Options* options) {
  if (auto filled = FillNumber(given, "threads", 0, kThreadsMax, &options->threads); !filled) {
    return filled;
  }
  if (auto filled = FillNumber(given, "max-clients", 1, kClientsMax, &options->clients_max);
      !filled) {
    return filled;
  }
  if (auto filled = FillNumber(given, "memory", kMemoryMin, kMemoryMax, &options->memory_bytes);
      !filled) {
    return filled;
  }
  return FillNumber(given, "max-item", kItemMin, kItemMax, &options->item_bytes_max);
}

Outcome FillTimeout(const Given& given, Options* options) {
  if (!given.Has("timeout")) return {};
  const auto& text = given.As<std::string>("timeout");
  const auto timeout = ParseDuration(text);
  if (!timeout || timeout->count() == 0 || *timeout > kTimeoutMax) {
    return Invalid(fmt::format("{} '{}' is not between 1us and 1h", given.NameOf("timeout"), text));
  }
  options->timeout = *timeout;
  return {};
}

Outcome FillPlaces(const Given& given, Options* options) {
  if (given.Has("server")) options->server = given.As<std::string>("server");
  for (const auto& [name, places] :
       {std::pair("memcached", &options->memcached), std::pair("redis", &options->redis)}) {
    if (given.Has(name)) *places = given.As<std::vector<std::string>>(name);
    for (const std::string& place : *places) {
      if (auto checked = CheckPlace(place); !checked) {
        return Invalid(given.NameOf(name) + ": " + checked.error().message);
      }
    }
  }
  if (given.Has("memcached-auth-file")) {
    options->memcached_auth_file = given.As<std::string>("memcached-auth-file");
    // What was meant to be closed must not be open.
    if (options->memcached_auth_file.empty()) {
      return Invalid(given.NameOf("memcached-auth-file") +
                     " is empty: a file with lines user:password");
    }
  }
  if (options->memcached.empty() && options->redis.empty()) {
    return Invalid("--memcached is missing, or --redis: where applications come in");
  }
  return {};
}

}  // namespace

std::string HelpText() {
  std::ostringstream text;
  text << "plov-door - memcached's and Redis's protocols in front of plov\n\n"
          "Usage: plov-door --memcached HOST:PORT|PATH [OPTION]...\n"
          "       plov-door --redis HOST:PORT|PATH [OPTION]...\n\n"
       << Described() << "\n"
       << service::OtherSources("PLOV_DOOR_")
       << "Prints \"plov-door: ready on PLACE\" when it serves; SIGTERM and SIGINT stop it "
          "cleanly.\n"
          "Exit status: 0 stopped cleanly, 2 usage, 3 cannot serve.\n";
  return text.str();
}

std::expected<Options, Error> ParseOptions(int argc, const char* const* argv) {
  const po::options_description described = Described();
  const auto given = Given::Read(described, {"PLOV_DOOR_", {"memcached", "redis"}}, argc, argv);
  if (!given) return Invalid(given.error().message);
  Options options;
  if (auto filled = options.Fill(*given); !filled) return Invalid(filled.error().message);
  if (options.action != Options::Action::kServe) return options;
  for (const auto fill : {FillPlaces, FillNumbers, FillTimeout}) {
    if (auto filled = fill(*given, &options); !filled) return std::unexpected(filled.error());
  }
  return options;
}

}  // namespace plov::door
