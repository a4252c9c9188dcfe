// How many GETs a second does one process do, and how many READs does each take?
//
//   read_speed [URI] [--seconds N] [--many] [--keys FILE]
//
// Gets keys of the server in random order for N seconds (3). The keys are those of FILE, one a
// line, or else all that a Scan finds. --many uses GetMany, which keeps a window of lookups in
// flight. The server takes no part: `top` shows plovd at 0 %.
#include <plov/client.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <expected>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Options {
  std::string uri = "shm:default";
  double seconds = 3;
  bool many = false;
  std::string keys_path;
};

// What the GETs of one run found.
struct Tally {
  uint64_t hits = 0;
  uint64_t errors = 0;

  void Count(const plov::Client::GetResult& result) {
    if (!result) {
      ++errors;
    } else if (*result) {
      ++hits;
    }
  }
};

// Between two looks at the clock.
constexpr size_t kKeysPerTurn = 1024;

bool Parse(std::span<char*> arguments, Options* options) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool has_value = i + 1 < arguments.size();
    if (argument == "--many") {
      options->many = true;
    } else if (argument == "--seconds" && has_value) {
      options->seconds = std::atof(arguments[++i]);
    } else if (argument == "--keys" && has_value) {
      options->keys_path = arguments[++i];
    } else if (!argument.starts_with("-")) {
      options->uri = argument;
    } else {
      return false;
    }
  }
  return options->seconds > 0;
}

std::expected<std::vector<std::string>, plov::Error> Keys(plov::Client* client,
                                                          const std::string& path) {
  std::vector<std::string> keys;
  if (!path.empty()) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) keys.push_back(line);
    return keys;
  }
  const auto scanned = client->Scan([&keys](std::string_view key, const plov::Item&) {
    keys.emplace_back(key);
    return true;
  });
  if (!scanned) return std::unexpected(scanned.error());
  return keys;
}

// Gets the keys in their order, again and again, until the time is over; returns seconds.
double Run(plov::Client* client, std::span<const std::string_view> keys, const Options& options,
           Tally* tally) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(options.seconds);
  for (size_t first = 0; Clock::now() < end; first += kKeysPerTurn) {
    if (first >= keys.size()) first = 0;
    const auto turn = keys.subspan(first, std::min(kKeysPerTurn, keys.size() - first));
    if (options.many) {
      client->GetMany(turn, [tally](size_t, const auto& result) { tally->Count(result); });
    } else {
      for (const std::string_view key : turn) tally->Count(client->Get(key));
    }
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Report(const plov::ClientStats& before, const plov::ClientStats& after, double seconds,
            const Tally& tally) {
  const auto gets = static_cast<double>(after.gets - before.gets);
  const auto reads = static_cast<double>(after.reads - before.reads);
  std::cout << std::fixed << std::setprecision(0) << gets / seconds << " GETs/s, "
            << std::setprecision(2) << reads / gets << " READs per GET, " << std::setprecision(1)
            << 100 * static_cast<double>(tally.hits) / gets << " % hits, "
            << after.fallbacks - before.fallbacks << " answered by the server, " << tally.errors
            << " errors\n";
}

int Complain(std::string_view message) {
  std::cerr << "read_speed: " << message << "\n";
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse({argv, static_cast<size_t>(argc)}, &options)) {
    std::cerr << "usage: read_speed [URI] [--seconds N] [--many] [--keys FILE]\n";
    return 2;
  }
  auto client = plov::Client::Connect(options.uri);
  if (!client) return Complain(client.error().message);
  auto keys = Keys(&*client, options.keys_path);
  if (!keys) return Complain(keys.error().message);
  if (keys->empty()) return Complain("there are no keys: store some first, as with `plov load`");

  // Shuffled once, so that the table is visited in random order and the keys themselves are not.
  std::ranges::shuffle(*keys, std::mt19937_64(std::random_device()()));
  const std::vector<std::string_view> views(keys->begin(), keys->end());
  const auto before = client->stats();
  Tally tally;
  const double seconds = Run(&*client, views, options, &tally);
  Report(before, client->stats(), seconds, tally);
  return tally.errors == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
