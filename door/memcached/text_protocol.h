// TextProtocol: memcached's text protocol of one connection, from bytes to requests.
//
// A line is a command; some have a data block after it. Lines have at most 2048 bytes but for get and gets, whose
// keys are taken as they come. A data block that is not there as a whole yet is received into memory of its own,
// which the budget is asked for first.
//
// Threads: a worker's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "door/memcached/command.h"
#include "door/memcached/protocol_options.h"
#include "door/memcached/text_request.h"
#include "door/protocol.h"

namespace plov::door::memcached {

class TextProtocol final : public Protocol {
 public:
  TextProtocol(Connection* connection, const ProtocolOptions& options)
      : connection_(connection), options_(options) {}
  ~TextProtocol() override;

  size_t Take(std::string_view input) override;
  std::span<char> wanted() override;
  void Filled(size_t bytes) override;
  size_t bytes() const override;

 private:
  // A get, gets, gat or gats whose keys have not all been taken.
  struct Keys {
    Verb verb;
    bool with_cas;
    int64_t exptime;
    bool is_first = true;
  };

  size_t TakeLine(std::string_view input, size_t end);
  size_t TakeLongLine(std::string_view input);
  size_t TakeKeys(std::string_view input);
  void AddKey(std::string_view key, bool is_last);
  void EndKeys();
  size_t TakeSwallowed(std::string_view input);
  size_t BeginKeys(const Command& command, std::string_view input, size_t line_bytes);
  size_t TakeBlock(Command command, std::string_view rest);
  void RefuseBlock(const Command& command, std::string_view error);
  void AddStore(TextRequest* request, std::string_view end);
  void Run(Command command);
  void Answer(std::string_view reply, const Command& command);
  void AddRequest(TextRequest* request, Request::Kind kind);
  Counters& counters();

  Connection* connection_;
  const ProtocolOptions& options_;
  std::optional<Keys> keys_;
  bool swallows_line_ = false;
  uint64_t swallowed_bytes_ = 0;  // to be passed over
  // Whose data block is received, with the end of its line, into its value.
  TextRequest* receiving_ = nullptr;
  size_t filled_bytes_ = 0;
};

}  // namespace plov::door::memcached
