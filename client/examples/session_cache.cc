// A cache of web sessions: stored with a time to live, READ into the program's own memory, marked
// by flags, renewed while in use, gone by itself at last.
//
//   session_cache [URI] [TTL_SECONDS]         2 seconds, so that the end can be watched
#include <plov/client.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>
#include <thread>

namespace {

// What one session holds. A plain structure is a value like any other bytes: programs of one build
// on one kind of machine may share it.
struct Session {
  uint64_t user_id = 0;
  uint32_t page_count = 0;
  uint32_t language = 0;
};

// Flags are 32 bits that belong to the application. Here they tell how to read the value, so that a
// later release can change Session and still know the old one.
constexpr uint32_t kFormat = 1;

class SessionCache {
 public:
  SessionCache(plov::Client* client, std::chrono::seconds ttl) : client_(client), ttl_(ttl) {}

  // kExists when the session is there already.
  std::expected<void, plov::Error> Open(std::string_view id, const Session& session) {
    return Store(id, session, plov::PutMode::kAdd);
  }

  // The session, std::nullopt when it was never opened or has expired.
  std::expected<std::optional<Session>, plov::Error> Find(std::string_view id) {
    Session session;
    const auto hit = client_->GetInto(id, std::as_writable_bytes(std::span(&session, 1)));
    if (!hit) return std::unexpected(hit.error());
    if (!*hit) return std::nullopt;
    if ((*hit)->flags != kFormat || (*hit)->value.size() != sizeof(session)) {
      return std::nullopt;  // another release's: as good as none
    }
    return session;
  }

  // Stores what has changed; its time to live begins anew. kNotFound when it has expired meanwhile,
  // which must not open it again: the user has to log in.
  std::expected<void, plov::Error> Renew(std::string_view id, const Session& session) {
    return Store(id, session, plov::PutMode::kReplace);
  }

 private:
  std::expected<void, plov::Error> Store(std::string_view id, const Session& session,
                                         plov::PutMode mode) {
    const auto bytes = std::as_bytes(std::span(&session, 1));
    const std::string_view value(static_cast<const char*>(static_cast<const void*>(bytes.data())),
                                 bytes.size());
    const auto put = client_->Put(id, value, {.mode = mode, .flags = kFormat, .ttl = ttl_});
    if (!put) return std::unexpected(put.error());
    return {};
  }

  plov::Client* client_;
  std::chrono::seconds ttl_;
};

int Complain(const plov::Error& error) {
  std::cerr << "session_cache: " << error.message << " (" << plov::CodeName(error.code) << ")\n";
  return EXIT_FAILURE;
}

// A visit: log in, look at a page, go away.
int Visit(SessionCache* cache, std::string_view id) {
  if (auto opened = cache->Open(id, {.user_id = 4711, .language = 7}); !opened) {
    return Complain(opened.error());
  }
  std::cout << "opened " << id << "\n";

  auto session = cache->Find(id);
  if (!session) return Complain(session.error());
  if (*session) {
    std::cout << "user " << (*session)->user_id << " has seen " << (*session)->page_count
              << " pages\n";
    ++(*session)->page_count;
    if (auto renewed = cache->Renew(id, **session); !renewed) return Complain(renewed.error());
    std::cout << "renewed " << id << "\n";
  }

  while (session && *session) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    session = cache->Find(id);
  }
  if (!session) return Complain(session.error());
  std::cout << id << " has expired\n";

  const auto late = cache->Renew(id, {});
  std::cout << "renewing it now: " << (late ? "done" : plov::CodeName(late.error().code)) << "\n";
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  auto client = plov::Client::Connect(argc > 1 ? argv[1] : "shm:default");
  if (!client) return Complain(client.error());
  SessionCache cache(&*client, std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 2));
  return Visit(&cache, "session:8f3a");
}
