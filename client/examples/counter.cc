// Counts in the store: many processes may add to one number, and none of their additions is lost.
//
//   counter KEY [TIMES] [URI]         adds 1 to the number at KEY, TIMES times (1), and prints it
//
// The server adds, so nobody waits for a lock and nobody tries again. The value is decimal text:
// whoever GETs it needs no help from the server, as of any other.
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
  const std::string_view key = argv[1];
  const auto times = NumberIn(argc > 2 ? argv[2] : "1");
  if (!times) return Complain(times.error());
  auto client = plov::Client::Connect(argc > 3 ? argv[3] : "shm:default");
  if (!client) return Complain(client.error());

  // A counter that is not there counts as 0. With `.min = 0` and a delta of -1 it would be a stock,
  // of which nobody takes the last piece twice: then it is kOutOfRange.
  const plov::IncrementOptions options{.initial = 0};
  int64_t number = 0;
  for (uint64_t i = 0; i < *times; ++i) {
    // After kTimeout and kUnknown it cannot be told whether 1 was added: another try could count twice.
    const auto counted = client->Increment(key, 1, options);
    if (!counted) return Complain(counted.error());
    number = counted->value;
  }
  std::cout << key << " is " << number << '\n';
  return EXIT_SUCCESS;
}
