// Connection: one client's socket, its requests under way in their order, and its output.
//
// It reads what has come once in a turn of its worker, into memory that all connections share, and keeps only
// what is no whole request yet; an idle connection has no buffer. It stops reading while too many requests wait
// or its client does not read the replies.
//
// Threads: the worker's.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <plov/client.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "door/protocol.h"
#include "door/request.h"
#include "fabric/os.h"

namespace plov::door {

class Worker;

class Connection {
 public:
  // Requests that may wait for their turn or their answer.
  static constexpr size_t kRequestsMax = 1024;
  // Output above this stops reading; one value more may come.
  static constexpr size_t kOutputMax = size_t{256} << 10;
  static constexpr size_t kAnswerAtOnce = size_t{32} << 10;

  Connection(Worker* worker, fabric::Fd fd, const ProtocolFactory& factory);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // For the protocol.
  Worker* worker() const { return worker_; }
  bool has_room() const { return request_count_ < kRequestsMax && !closes_ && !is_full(); }
  // For the next piece of a long reply: many clients that get one leave each other and all others a part of each turn.
  bool has_room_to_answer() const { return output_bytes() + held_bytes_ < kAnswerAtOnce; }
  // Takes the request over.
  void Add(Request* request);
  // The request is a part of another one, which runs it.
  void Attach(Request* request) { request->connection_ = this; }
  // Whether so many bytes more are within the budget; they are charged then.
  bool Reserve(size_t bytes);
  // No more input is taken; what was added before is answered, then the connection is closed.
  void Close() { closes_ = true; }

  // For requests: `reply` of a kWrite is there.
  void End(Request* request);

  // For the worker. A GET that was begun for the request has ended.
  void TakeItem(Request* request, const Client::GetResult& result);
  // The client does not read, or much waits for a reply before it.
  bool is_full() const { return output_bytes() + held_bytes_ > kOutputMax; }
  // Whether the GET is to be made later: who is first waits for nothing but the client.
  bool Defers(const Request* request) const {
    return request == first_ ? output_bytes() > kOutputMax : is_full();
  }
  void Postpone(Request* request);
  // Takes requests from the input and starts what may be started.
  void Work();
  // Sends, keeps what is left, and arms its events.
  enum class Next : uint8_t { kWaits, kGoesOn, kIsOver };
  Next EndTurn();

  bool is_touched = false;  // it is in the worker's list of this turn

 private:
  void OnReadable();
  void OnWritable();
  void Receive();
  void ReceiveWanted();
  void OnReceived(ssize_t bytes);
  void TakeInput();
  static size_t PlaceOf(std::string_view key);
  // Whether one GET more is likely to fit into the output, with those that are under way; `resumed` of
  // postponed_ are again.
  bool MayRead(size_t resumed = 0) const;
  bool MayResume(size_t resumed) const;
  void ResumeReads();
  bool MayStart(const Request& request) const;
  void CountRunning(const Request& request, int change);
  void StartRequests();
  void PopEnded();
  void AddReply(Request* request);
  void Pop();
  void Send();
  void KeepRequests();
  void KeepInput();
  void ArmReading();
  void ChargeBytes();
  size_t output_bytes() const { return output_.size() - sent_; }
  // Whether input may be taken; a reply that has begun goes on behind Close as well.
  bool may_take() const { return protocol_->is_answering() ? has_room_to_answer() : has_room(); }
  bool is_over() const;
  // Whether it stopped where it may go on now.
  bool may_go_on() const {
    return (is_stalled_ && may_take()) || (!postponed_.empty() && MayResume(0)) ||
           (next_to_start_ != nullptr && MayStart(*next_to_start_));
  }

  Worker* worker_;
  fabric::Fd fd_;
  event readable_;
  event writable_;
  bool reads_ = false;   // readable_ is armed
  bool writes_ = false;  // writable_ is armed
  std::unique_ptr<Protocol> protocol_;

  std::string kept_;         // input of former turns
  std::string_view input_;   // what is left of this turn's; of kept_, or of the worker's memory
  bool is_kept_ = false;     // input_ is of kept_
  bool is_stalled_ = false;  // there may be requests in it, but there was no room
  bool input_ended_ = false;
  bool closes_ = false;
  bool is_broken_ = false;

  Request* first_ = nullptr;
  Request* last_ = nullptr;
  Request* next_to_start_ = nullptr;
  size_t request_count_ = 0;
  uint64_t request_number_ = 0;  // of the last one
  size_t running_count_ = 0;
  Request::Kind running_kind_ = Request::Kind::kReply;
  // Writes that run, by a hash of their keys; and those of them that have steps.
  static constexpr size_t kKeyPlaces = 64;
  std::array<uint16_t, kKeyPlaces> running_keys_{};
  size_t running_steps_ = 0;
  std::vector<Request*> postponed_;  // in their order
  size_t read_bytes_ = 0;            // of the reply to the last GET
  bool group_has_failed_ = false;

  std::string output_;
  size_t sent_ = 0;
  size_t held_bytes_ = 0;  // of replies that wait for those before them
  size_t charged_bytes_ = 0;
};

}  // namespace plov::door
