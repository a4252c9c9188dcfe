// A user's program in C++: puts an item and gets it back from the server named by its argument.
#include <plov/client.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto client = plov::Client::Connect(argv[1]);
  if (!client) {
    std::cerr << client.error().message << "\n";
    return 1;
  }
  if (auto put = client->Put("user:1", "Ada"); !put) {
    std::cerr << put.error().message << "\n";
    return 1;
  }
  auto hit = client->Get("user:1");
  if (!hit || !hit->has_value() || (*hit)->value != "Ada") return 1;
  auto miss = client->Get("user:2");
  if (!miss || miss->has_value()) return 1;
  // Not a template or inline: it must be in the library.
  const auto bad = client->Get("");
  return !bad && plov::CodeName(bad.error().code) == "kInvalidArgument" ? 0 : 1;
}
