// plov in an event loop: one thread waits in poll() for its input and for the server, and blocks
// nowhere else.
//
//   event_loop [URI]
//
// Reads commands from standard input, starts each as soon as it is read and prints each as it ends,
// so the answers come in any order:
//   get KEY | put KEY VALUE | delete KEY
#include <fcntl.h>
#include <plov/client.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

// Key and value of an operation must stay until its callback has run. So the callback owns them.
struct Command {
  std::string verb;
  std::string key;
  std::string value;
};

std::unique_ptr<Command> Parse(std::string_view line) {
  auto command = std::make_unique<Command>();
  const auto take_word = [&line] {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return std::string(word);
  };
  command->verb = take_word();
  command->key = take_word();
  command->value = line;
  return command;
}

void Print(const Command& command, std::string_view outcome) {
  std::cout << command.verb << " " << command.key << ": " << outcome << "\n";
}

void Print(const Command& command, const plov::Error& error) {
  Print(command, std::string(plov::CodeName(error.code)).append(", ").append(error.message));
}

void Start(plov::Client* client, std::unique_ptr<Command> command) {
  // Moving the pointer into the callback leaves the command where it is, and these views good.
  const Command& asked = *command;
  if (asked.verb == "get") {
    client->StartGet(asked.key, [mine = std::move(command)](plov::Client::GetResult hit) {
      if (!hit) return Print(*mine, hit.error());
      Print(*mine, *hit ? (*hit)->value : "absent");
    });
  } else if (asked.verb == "put") {
    client->StartPut(asked.key, asked.value, {},
                     [mine = std::move(command)](plov::Client::PutResult put) {
                       if (!put) return Print(*mine, put.error());
                       Print(*mine, "stored");
                     });
  } else if (asked.verb == "delete") {
    client->StartDelete(asked.key, 0, [mine = std::move(command)](plov::Client::DeleteResult was) {
      if (!was) return Print(*mine, was.error());
      Print(*mine, *was ? "removed" : "absent");
    });
  } else {
    Print(asked, "is none of get, put, delete");
  }
}

// Lines from a file descriptor, without waiting for them.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

  // Reads what is there and calls `each` for every whole line of it. False at the end.
  template <typename Each>
  bool Read(Each&& each) {
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    text_.append(bytes.data(), static_cast<size_t>(count));
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      each(std::string_view(text_).substr(0, end));
    }
    return count > 0;
  }

 private:
  int fd_;
  std::string text_;
};

// How long poll() may sleep: in milliseconds, rounded up, for a shorter sleep would only spin.
int SleepMs(const plov::Client& client) {
  const auto sleep = std::chrono::ceil<std::chrono::milliseconds>(client.next_poll());
  return static_cast<int>(std::min<int64_t>(sleep.count(), INT_MAX));
}

void Loop(plov::Client* client) {
  Lines input(STDIN_FILENO);
  bool more = true;
  // Poll first: it sends what was started, and what it has done need not be waited for.
  while (client->Poll() > 0 || more) {
    std::cout.flush();
    // A negative descriptor is one that poll() passes over.
    std::array<pollfd, 2> events{pollfd{client->fd(), POLLIN, 0},
                                 pollfd{more ? STDIN_FILENO : -1, POLLIN, 0}};
    if (::poll(events.data(), events.size(), SleepMs(*client)) < 0 && errno != EINTR) return;
    if (more && events[1].revents != 0) {
      more = input.Read([client](std::string_view line) { Start(client, Parse(line)); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto client = plov::Client::Connect(argc > 1 ? argv[1] : "shm:default");
  if (!client) {
    std::cerr << "event_loop: " << client.error().message << "\n";
    return EXIT_FAILURE;
  }
  Loop(&*client);
  return EXIT_SUCCESS;
}
