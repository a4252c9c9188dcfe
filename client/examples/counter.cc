// Counts in the store: many processes may add to one number, and none of their additions is lost.
//
//   counter KEY [TIMES] [URI]         adds 1 to the number at KEY, TIMES times (1), and prints it
//
// Nothing is locked. The new number is stored only over the version that was read; whoever comes
// second gets kVersionMismatch, reads again and tries again.
#include <plov/client.h>

#include <charconv>
#include <cstdlib>
#include <expected>
#include <iostream>
#include <string>
#include <string_view>

namespace {

std::expected<uint64_t, plov::Error> NumberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return plov::Fail(plov::Code::kInvalidArgument, "this is not a number: " + std::string(text));
  }
  return number;
}

// Someone else was faster: worth another try.
bool IsRace(plov::Code code) {
  return code == plov::Code::kVersionMismatch ||  // they changed it
         code == plov::Code::kExists ||           // they created it
         code == plov::Code::kNotFound;           // they deleted it
}

// Adds 1; returns the new number. After kTimeout and kUnknown it cannot be told whether 1 was
// added, so these are left to the caller: another try here could count twice.
std::expected<uint64_t, plov::Error> Increment(plov::Client* client, std::string_view key,
                                               uint64_t* races) {
  while (true) {
    const auto hit = client->Get(key);
    if (!hit) return std::unexpected(hit.error());
    uint64_t number = 0;
    plov::PutOptions options{.mode = plov::PutMode::kAdd};  // the first one creates the key
    if (*hit) {
      const auto stored = NumberIn((*hit)->value);
      if (!stored) return stored;
      number = *stored;
      options = {.expected_version = (*hit)->version};
    }
    ++number;
    const auto put = client->Put(key, std::to_string(number), options);
    if (put) return number;
    if (!IsRace(put.error().code)) return std::unexpected(put.error());
    ++*races;
  }
}

int Complain(const plov::Error& error) {
  std::cerr << "counter: " << error.message << " (" << plov::CodeName(error.code) << ")\n";
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: counter KEY [TIMES] [URI]\n";
    return 2;
  }
  const auto times = NumberIn(argc > 2 ? argv[2] : "1");
  if (!times) return Complain(times.error());
  auto client = plov::Client::Connect(argc > 3 ? argv[3] : "shm:default");
  if (!client) return Complain(client.error());

  uint64_t number = 0;
  uint64_t races = 0;
  for (uint64_t i = 0; i < *times; ++i) {
    const auto counted = Increment(&*client, argv[1], &races);
    if (!counted) return Complain(counted.error());
    number = *counted;
  }
  std::cout << argv[1] << " is " << number << ", " << races << " races lost\n";
  return EXIT_SUCCESS;
}
