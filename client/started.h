// Started: the asynchronous operations under way, in the order of each key.
//
// GETs are served by READs and writes by messages, so an operation that was started later could
// overtake one of the same key. It waits instead until those of the other kind have ended; GETs of
// one key go together, and so do writes, which their queue keeps in order. Keys are told apart by a
// hash, so seldom one waits for another; and in a cluster by their shard, so that none waits for one whose
// server is away.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/gets.h"
#include "client/transactions.h"
#include "client/writes.h"

namespace plov {

class Started {
 public:
  // One that is under way; what derives from it knows whom to tell. Given to Started when it is started,
  // and destroyed by it once it has ended.
  class Operation {
   public:
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    virtual ~Operation() = default;

   protected:
    explicit Operation(bool is_write) : is_write_(is_write) {}

   private:
    friend class Started;

    virtual std::string_view key() const = 0;
    virtual void Queue(Started* started) = 0;
    virtual void Fail(const Error& error) = 0;

    const bool is_write_;
    Started* owner_ = nullptr;
    size_t place_ = 0;
    Operation* next_ = nullptr;  // that waits after it
  };

  class StartedGet : public Operation {
   public:
    StartedGet(std::string_view key, Deadline deadline, Client::GetCallback&& done)
        : Operation(false), key_(key), deadline_(deadline), done_(std::move(done)) {}

   private:
    std::string_view key() const override { return key_; }
    void Queue(Started* started) override;
    void Fail(const Error& error) override { done_(std::unexpected(error)); }

    const std::string_view key_;
    const Deadline deadline_;
    Client::GetCallback done_;
  };

  class StartedWrite : public Operation {
   protected:
    explicit StartedWrite(const Write& write) : Operation(true), write_(write) {}

    Write write_;

   private:
    virtual void Tell(WriteResult result) = 0;
    std::string_view key() const override { return write_.key; }
    void Queue(Started* started) override;
    void Fail(const Error& error) override { Tell(std::unexpected(error)); }
  };

  class StartedCommit final : public StartedWrite {
   public:
    StartedCommit(EncodedCommit&& commit, Deadline deadline, Client::PutCallback&& done)
        : StartedWrite({}), commit_(std::move(commit)), done_(std::move(done)) {
      write_ = commit_.AsWrite();
      write_.deadline = deadline;
    }

   private:
    void Tell(WriteResult result) override { done_(commit_.ResultOf(std::move(result))); }

    const EncodedCommit commit_;
    Client::PutCallback done_;
  };

  template <typename Callback, typename Result>
  class Told final : public StartedWrite {
   public:
    Told(const Write& write, Callback&& done, Result (*convert)(WriteResult))
        : StartedWrite(write), done_(std::move(done)), convert_(convert) {}

   private:
    void Tell(WriteResult result) override { done_(convert_(std::move(result))); }

    Callback done_;
    Result (*const convert_)(WriteResult);
  };

  Started(Gets* gets, Writes* writes, Callbacks* callbacks)
      : gets_(gets), writes_(writes), callbacks_(callbacks) {}
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  // Before the first operation.
  void Attach(const Peers* peers) { peers_ = peers; }

  void Start(std::unique_ptr<Operation> operation);

  // Whether an operation of the key, or of one with the same hash, is under way.
  bool Has(std::string_view key) const;
  // Operations that have not ended.
  size_t count() const { return count_; }
  // From now on operations end at once with this error.
  void Close(const Error& error) { closed_ = error; }

 private:
  struct Place {
    uint32_t running = 0;
    bool writes = false;         // those that run are
    Operation* first = nullptr;  // that waits
    Operation* last = nullptr;   // valid while there is a first
  };

  size_t PlaceOf(std::string_view key) const;
  size_t place_count() const;
  bool MayRun(const Place& place, const Operation& operation) const;
  void Run(std::unique_ptr<Operation> operation);
  void EndAtOnce(std::unique_ptr<Operation> operation, const Error& error);
  // It has ended: those that waited for it go on before its caller is told.
  static std::unique_ptr<Operation> Ended(Operation* ended);

  const Peers* peers_ = nullptr;
  Gets* gets_;
  Writes* writes_;
  Callbacks* callbacks_;
  std::vector<Place> places_;  // made when the first operation is started
  size_t count_ = 0;
  std::optional<Error> closed_;
};

}  // namespace plov
