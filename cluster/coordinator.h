// Coordinator: the few values that the servers of a cluster must agree on, in a store that is not plov's.
//
// It is a tree of small values, each with a revision that grows by every write: ZooKeeper (zk:), or a file that
// nobody but the operator changes (static:). Two things about it decide how it may be used:
//  - What Get and List return may be old. Only Set and Delete, which compare the revision, decide anything.
//  - A write whose reply was lost is *unknown*: it has happened, or has not, or may happen yet. Writes tell that
//    by kUnknown alone; after every other error of theirs it has not happened and never will.
// Nothing that reads or writes items depends on it or on its session: only changes of a configuration do.
//
// Paths are relative to the root that the URI names: "config", "shards/7"; names of A-Z a-z 0-9 . _ - between
// slashes, 64 bytes at most each.
//
// Threads: any, also at the same time. Calls block until their deadline at most (Options::timeout), so a shard's
//          thread makes none.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::cluster {

// More is refused before it is sent: ZooKeeper would cut the connection at 1 MB (jute.maxbuffer), with an error
// that says nothing about a size.
inline constexpr size_t kDataBytesMax = size_t{512} << 10;
inline constexpr size_t kNameBytesMax = 64;

// Whether it is one name of a path: of a server, say. "." and ".." are none.
bool IsName(std::string_view name);

// Of one node: the state of its data, to compare with. Grows while the node lives; one that was deleted and
// created again begins anew, so a node that is compared and set is never deleted.
using Revision = int64_t;

struct Value {
  std::string data;
  Revision revision = 0;
};

enum class Lifetime : uint8_t {
  kPersistent,
  // Goes when the session ends that created it, some time after its owner has died: the owner's next life may still
  // find it there (kExists).
  kEphemeral,
};

struct State {
  enum class Kind : uint8_t {
    kConnected,
    kDisconnected,  // since when: `since`; ephemeral nodes last until the session ends
    kSessionEnded,  // the next call begins another
  };
  Kind kind;
  std::chrono::steady_clock::time_point since;
  // Counts the sessions, from 1. A new number: ephemeral nodes are gone and have to be created again.
  uint64_t session;
};

class Coordinator {
 public:
  virtual ~Coordinator() = default;

  // Errors of all calls: kInvalidArgument (a path that is none), kUnavailable (no connection within the
  // deadline, or lost meanwhile), kPermission, kProtocol; kTimeout of reads alone, kUnknown of writes alone.

  // kNotFound.
  virtual std::expected<Value, Error> Get(const std::string& path) = 0;

  // Replaces the data if its revision still is `revision`; returns the new one. kVersionMismatch (the conflict),
  // kNotFound, kTooLarge.
  virtual std::expected<Revision, Error> Set(const std::string& path, const std::string& data,
                                             Revision revision) = 0;

  // Creates it, and what is missing above it. kExists, kTooLarge, kNotFound (the root is gone).
  virtual std::expected<Revision, Error> Create(const std::string& path, const std::string& data,
                                                Lifetime lifetime) = 0;

  // kVersionMismatch, kNotFound; kInvalidArgument when there is something below it.
  virtual std::expected<void, Error> Delete(const std::string& path, Revision revision) = 0;

  // The names right below `path` ("": the root), sorted; none when there is no such path.
  virtual std::expected<std::vector<std::string>, Error> List(const std::string& path) = 0;

  // From now on each Get and List of `path` ("": the root) or of what is below it asks to be told of the next
  // change of what it has looked at: look, wait for a hint, look again. A hint may come for nothing, and tells
  // of several changes at once.
  virtual void Watch(const std::string& path) = 0;

  // Readable when there are hints, and when the state has changed.
  virtual int hint_fd() const = 0;

  // The paths given to Watch at or below which something may have changed, each once; all of them when a
  // connection has come back or a session has ended. hint_fd is readable no more.
  virtual std::vector<std::string> TakeHints() = 0;

  virtual State state() const = 0;
};

// What `path` holds from now on, persistent, whatever it held; nothing is written where it holds that already. Errors: as of
// Get, Set and Create.
std::expected<void, Error> Put(Coordinator* coordinator, const std::string& path,
                               const std::string& data);

struct Options {
  std::chrono::milliseconds timeout{2000};  // of each call, and of Open
  // How long a server may be silent until its ephemeral nodes go; ZooKeeper takes 2 to 20 of its ticks.
  std::chrono::milliseconds session_timeout{4000};
  // zk: one line "user:password" (scheme digest), which nobody but the file's owner may read. What is created is
  // for this user alone then, else for everybody. The password crosses the network in clear text: the ensemble
  // has to be on a private network, or behind a tunnel.
  std::string auth_file{};
  bool creates_root = false;  // zk: the root and what is missing above it
  // zk: gets the client library's warnings, from a thread of its own; nullptr: they are dropped.
  void (*log)(const char* line) = nullptr;
};

// uri: zk://HOST[:PORT],.../ROOT (port 2181 unless given, IPv6 addresses in brackets), or static:FILE.
//
// Errors: kInvalidArgument (no such URI, no host's name is known, an auth file or times that make no sense, built
// without ZooKeeper), kPermission (the data are another user's, an auth file that others may read), kUnavailable
// (nobody answers; names the addresses tried), kNotFound (the root is not there, or the file), kUnknown (whether the
// root was created). Host names are looked up first, which takes as long as the name service does.
std::expected<std::unique_ptr<Coordinator>, Error> Open(const std::string& uri,
                                                        const Options& options);

}  // namespace plov::cluster
