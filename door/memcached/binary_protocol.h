// BinaryProtocol: memcached's binary protocol of one connection, from bytes to requests.
//
// A request is a header, extras, a key and a value. A value that is not there as a whole yet is received into memory
// of its own, which the budget is asked for first; one that is refused is passed over.
//
// Threads: a worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "door/memcached/binary_header.h"
#include "door/memcached/binary_request.h"
#include "door/memcached/command.h"
#include "door/memcached/protocol_options.h"
#include "door/memcached/sasl.h"
#include "door/protocol.h"

namespace plov::door::memcached {

class BinaryProtocol final : public Protocol {
 public:
  BinaryProtocol(Connection* connection, const ProtocolOptions& options)
      : connection_(connection), options_(options), sasl_(options.users) {}
  ~BinaryProtocol() override;

  size_t Take(std::string_view input) override;
  std::span<char> wanted() override;
  void Filled(size_t bytes) override;
  size_t bytes() const override { return receiving_ == nullptr ? 0 : receiving_->bytes(); }

 private:
  size_t TakeSwallowed(std::string_view input);
  size_t TakeRequest(const BinaryHeader& header, std::string_view input);
  // Of `rest`, which comes after the key: what was taken; std::nullopt: the request is to be taken again when more
  // of it is there.
  std::optional<size_t> TakeValue(const BinaryHeader& header, const Command& command,
                                  std::string_view rest);
  std::optional<size_t> TakeSaslMessage(const BinaryHeader& header, const Command& command,
                                        std::string_view rest);
  void TellSasl(const BinaryHeader& header, Status status);
  void Run(const BinaryHeader& header, const Command& command);

  // Refusals: an error, and so much that comes next is passed over, or the connection is closed.
  bool IsRefused(const BinaryHeader& header);
  void Refuse(const BinaryHeader& header, Status status, size_t body_bytes);
  void RefuseAndClose(const BinaryHeader& header, Status status);
  void RefuseValue(const BinaryHeader& header, const Command& command, Status status);

  void Answer(const BinaryHeader& header, const BinaryReply& reply);
  void AnswerError(const BinaryHeader& header, Status status);
  void AnswerStats(const BinaryHeader& header, std::string_view argument);
  void AddReplied(std::string reply);
  static BinaryRequest* MakeRequest(const BinaryHeader& header, const Command& command);
  void AddRequest(BinaryRequest* request, Request::Kind kind);
  void Count(door::Count which);

  Connection* connection_;
  const ProtocolOptions& options_;
  SaslSession sasl_;
  size_t swallowed_bytes_ = 0;  // to be passed over
  // Whose value is received.
  BinaryRequest* receiving_ = nullptr;
  size_t filled_bytes_ = 0;
};

}  // namespace plov::door::memcached
