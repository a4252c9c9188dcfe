// Protocol: the seam between connections, which move bytes, and what the bytes mean. One object per connection.
//
// Bytes go in, requests come out (Connection::Add), and their replies go back in the order of requests.
//
// The order within a connection. Replies come in the order of requests. Reads that follow each other are started
// together, and so are writes that follow each other; a write is not started before the reads before it have
// ended, nor a read before the writes before it have ended. So a connection always reads its own writes, and an
// earlier read never sees a later write. Of writes of one key that follow each other, one that takes several steps
// at the server runs alone; so does what concerns several keys at once, or all. Between connections nothing is promised
// but what libplov promises.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace plov::door {

class Connection;

class Protocol {
 public:
  virtual ~Protocol() = default;

  // Takes whole requests from the beginning of `input`, gives them to the connection, and returns how many bytes
  // it took; it stops where connection->has_room() is false. The bytes stay until the end of the worker's turn
  // (Request::Keep). A protocol that cannot go on calls connection->Close().
  virtual size_t Take(std::string_view input) = 0;

  // Whether a reply that is longer than the output may be has begun: Take goes on with it whenever there is room.
  virtual bool is_answering() const { return false; }

  // Where the next bytes of the connection go, if a large value is being received; else empty. Filled tells how
  // many came.
  virtual std::span<char> wanted() = 0;
  virtual void Filled(size_t bytes) = 0;

  // Bytes that it has allocated beside requests.
  virtual size_t bytes() const = 0;
};

// Threads: any.
class ProtocolFactory {
 public:
  virtual ~ProtocolFactory() = default;
  virtual std::unique_ptr<Protocol> Make(Connection* connection) const = 0;
  // What is told to a client that is one too many.
  virtual std::string_view too_many_connections() const = 0;
};

}  // namespace plov::door
