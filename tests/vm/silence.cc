// How an RDMA fabric notices a machine that is gone without a word, for tests/vm/silence.sh:
//
//   silence serve URI COUNT
//     lets clients in, answers none, and ends when COUNT have been closed
//   silence client URI CUT MEND
//     READs, runs the shell command CUT in the middle, and prints after how long that was noticed;
//     runs MEND; does the same with a client that waits for a reply, but leaves the wire cut
//
// Exit status: 0, or 1 when nothing was noticed within kWaitMax, 2 otherwise.
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/os.h"

namespace plov::fabric {

namespace {

constexpr std::chrono::seconds kWaitMax{60};
constexpr std::chrono::milliseconds kBeforeTheCut{500};
constexpr uint32_t kFormatVersion = 1;
constexpr size_t kRegionBytes = 1 << 20;
constexpr std::array<std::byte, 8> kMessage{};

int Complain(const std::string& what) {
  std::fprintf(stderr, "silence: %s\n", what.c_str());
  return 2;
}

int Serve(const std::string& uri, int count) {
  auto memory = Mapping::MapAnonymous(kRegionBytes);
  if (!memory) return Complain(memory.error().message);
  const ListenOptions options{.shards = {{memory->bytes(), -1}}, .format_version = kFormatVersion};
  auto listener = Listener::Listen(uri, options);
  if (!listener) return Complain(listener.error().message);
  std::puts("serving");
  std::fflush(stdout);
  Port& port = (*listener)->port(0);
  const Deadline until = Clock::now() + kWaitMax;
  for (int closed = 0; closed < count;) {
    if (Clock::now() > until) return 1;
    (*listener)->HandleEvents();
    while (const auto event = port.Poll()) {
      if (event->kind == PortEvent::Kind::kClosed) ++closed;
    }
    if (!port.Arm()) continue;
    std::array<pollfd, 2> fds = {{{port.fd(), POLLIN, 0}, {(*listener)->fd(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), 100);
    port.Disarm();
  }
  std::printf("closed %d\n", count);
  return 0;
}

// Keeps a READ on its way; false when one failed.
bool KeepsReading(Connection* connection) {
  std::array<std::byte, 64> to;
  const ReadOp read{.bytes = to.size(), .to = to.data()};
  if (connection->Read({&read, 1}) != 1) return false;
  Completion completion{};
  while (connection->Poll({&completion, 1}) == 0) {
    Wait(connection, Clock::now() + kWaitMax);
    connection->Receive();
  }
  return completion.status == Status::kDone;
}

// Sleeps until there is a reply, which does not come.
bool KeepsWaiting(Connection* connection) {
  connection->Receive();
  Wait(connection, Clock::now() + std::chrono::milliseconds(100));
  return connection->alive();
}

int Watch(const std::string& uri, const char* name, bool (*keeps_on)(Connection*),
          const std::string& cut) {
  auto connected = Connection::Connect(
      uri, {.format_version = kFormatVersion, .client_id = 1, .deadline = Clock::now() + kWaitMax});
  if (!connected) return Complain(connected.error().message);
  Connection* connection = connected->get();
  if (keeps_on == KeepsWaiting && !connection->Send(kMessage)) return Complain("cannot send");
  for (const auto until = Clock::now() + kBeforeTheCut; Clock::now() < until;) {
    if (!keeps_on(connection)) return Complain("the server is gone before the cut");
  }
  if (std::system(cut.c_str()) != 0) return Complain("cannot cut the wire");
  const auto begin = Clock::now();
  while (keeps_on(connection)) {
    if (Clock::now() - begin > kWaitMax) return 1;
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  std::printf("%s: noticed after %lld ms\n", name, static_cast<long long>(took.count()));
  std::fflush(stdout);
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "serve") {
    return Serve(arguments[1], std::atoi(arguments[2].c_str()));
  }
  if (arguments.size() == 4 && arguments[0] == "client") {
    const int reading = Watch(arguments[1], "reading", KeepsReading, arguments[2]);
    if (reading != 0) return reading;
    if (std::system(arguments[3].c_str()) != 0) return Complain("cannot mend the wire");
    return Watch(arguments[1], "waiting for a reply", KeepsWaiting, arguments[2]);
  }
  return Complain("usage: silence serve URI COUNT | client URI CUT MEND");
}

}  // namespace

}  // namespace plov::fabric

int main(int argc, char** argv) { return plov::fabric::Main({argv + 1, argv + argc}); }
