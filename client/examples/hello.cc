// Stores one item, gets it back, removes it.
//
//   g++ -std=c++23 hello.cc -o hello $(pkg-config --cflags --libs plov)
//   plovd & ./hello                   the server shm:default
//   ./hello shm:/tmp/other.sock       another one
#include <plov/client.h>

#include <cstdlib>
#include <iostream>

namespace {

// Every error carries a code to act on and one line that says what to do.
int Complain(const plov::Error& error) {
  std::cerr << "hello: " << error.message << " (" << plov::CodeName(error.code) << ")\n";
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  auto client = plov::Client::Connect(argc > 1 ? argv[1] : "shm:default");
  if (!client) return Complain(client.error());

  const auto version = client->Put("user:1", "Ada");
  if (!version) return Complain(version.error());
  std::cout << "stored user:1\n";

  // An absent key is no error, so there are two questions: did the GET work, and was it a hit.
  const auto hit = client->Get("user:1");
  if (!hit) return Complain(hit.error());
  if (*hit) std::cout << "user:1 is " << (*hit)->value << "\n";

  // Only the version that was stored above: what someone else wrote meanwhile would stay.
  const auto removed = client->Delete("user:1", *version);
  if (!removed) return Complain(removed.error());
  std::cout << (*removed ? "removed user:1\n" : "user:1 was gone already\n");

  const auto miss = client->Get("user:1");
  if (!miss) return Complain(miss.error());
  std::cout << (*miss ? "user:1 is back\n" : "user:1 is absent\n");
  return EXIT_SUCCESS;
}
