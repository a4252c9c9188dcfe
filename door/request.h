// Request: one request of a connection, from its bytes to its reply. A protocol derives its own from it.
//
// A request of several keys is a group: each key is a request, the first opens the group, the last closes it.
// A failure within a group takes the place of all that was to come of the group's reply.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plov::door {

class Connection;
class Worker;

class Request {
 public:
  enum class Kind : uint8_t {
    kReply,  // needs no server: its reply is there
    kRead,   // one GET
    kWrite,  // everything that may change an item, in any number of steps
    kAlone,  // of several items at once, or all: runs when all before it have ended, and none after it does meanwhile
  };

  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request() = default;

  virtual std::string_view key() const = 0;
  // kWrite: whether it is more than one operation of libplov, which keeps only operations in order.
  virtual bool has_steps() const { return false; }
  // kRead: adds the reply to `to`. Returns false when it is a failure, which ends its group.
  virtual bool TakeItem(const Client::GetResult& result, std::string* to) = 0;
  // kWrite, kAlone: begins, and calls connection()->End(this) once `reply` is there, perhaps at once.
  virtual void Start(Worker* worker) = 0;
  // Its client has gone while it is under way: it may end early, and has to end all the same.
  virtual void Abandon() {}
  // The bytes of its connection's input, which it may refer to, end: it copies what it still needs.
  virtual void Keep() = 0;
  // What a group's last request adds to a reply that has not failed.
  virtual std::string_view closing() const { return {}; }
  // It is over: gives the object back to who made it.
  virtual void Recycle() = 0;
  // Bytes that it has allocated.
  virtual size_t bytes() const = 0;

  Connection* connection() const { return connection_; }

  Kind kind = Kind::kReply;
  bool opens_group = true;
  bool closes_group = true;
  bool has_failed = false;  // `reply` is a failure
  std::string reply;        // where it could not be added to the connection's output at once

 private:
  friend class Connection;

  Connection* connection_ = nullptr;
  Request* next_ = nullptr;
  uint64_t number_ = 0;  // in its connection
  bool has_ended_ = false;
};

}  // namespace plov::door
