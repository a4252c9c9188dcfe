// A histogram in the store: many processes count into one vector, and none of their counts is lost.
//
//   histogram KEY [URI]               counts the numbers on standard input by their digits, and prints how
//                                     many there are of each length, and in all, whoever counted them
//
// Each process counts by itself and then adds all that it has in one message; the server adds. Whoever GETs
// the vector needs no help from the server, as of any other value.
#include <plov/client.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr size_t kDigitsMax = 20;

int Complain(const plov::Error& error) {
  std::cerr << "histogram: " << error.message << " (" << plov::CodeName(error.code) << ")\n";
  return EXIT_FAILURE;
}

std::vector<uint64_t> CountsOf(std::istream& numbers) {
  std::vector<uint64_t> counts(kDigitsMax + 1);
  for (std::string number; numbers >> number;) {
    ++counts[std::min(number.size(), kDigitsMax)];
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: histogram KEY [URI]\n";
    return 2;
  }
  const std::string_view key = argv[1];
  auto client = plov::Client::Connect(argc > 2 ? argv[2] : "shm:default");
  if (!client) return Complain(client.error());

  // Zeros, unless somebody was here before.
  const auto zeros = plov::VectorValue<uint64_t>(std::vector<uint64_t>(kDigitsMax + 1));
  const auto made = client->Put(key, zeros, {.mode = plov::PutMode::kAdd});
  if (!made && made.error().code != plov::Code::kExists) return Complain(made.error());

  const auto added = client->UpdateVector(key, plov::VectorFunction::kAdd, CountsOf(std::cin));
  if (!added) return Complain(added.error());

  const auto counted = client->FilterVector(key, plov::Comparison::kGreater, uint64_t{0});
  if (!counted) return Complain(counted.error());
  const auto counts = counted->elements<uint64_t>();
  for (size_t i = 0; i < counts.size(); ++i) {
    std::cout << counted->indexes[i] << " digits: " << counts[i] << '\n';
  }
  const auto all = client->ReduceVector(key, plov::VectorFunction::kAdd);
  if (!all) return Complain(all.error());
  std::cout << "in all: " << std::get<uint64_t>(all->value) << '\n';
  return EXIT_SUCCESS;
}
