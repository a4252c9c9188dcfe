// MemcachedProtocol: which of memcached's protocols a connection speaks. Its first byte tells, as memcached has it:
// 0x80 is the binary protocol, everything else text.
//
// Threads: a worker's; the factory any.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "door/memcached/protocol_options.h"
#include "door/memcached/text_authentication.h"
#include "door/protocol.h"

namespace plov::door::memcached {

class MemcachedProtocol final : public Protocol {
 public:
  MemcachedProtocol(Connection* connection, const ProtocolOptions& options)
      : connection_(connection), options_(options) {}

  size_t Take(std::string_view input) override;
  std::span<char> wanted() override {
    return spoken_ == nullptr ? std::span<char>() : spoken_->wanted();
  }
  void Filled(size_t bytes) override { spoken_->Filled(bytes); }
  size_t bytes() const override { return spoken_ == nullptr ? 0 : spoken_->bytes(); }

 private:
  void Begin(char first);

  Connection* connection_;
  const ProtocolOptions& options_;
  std::unique_ptr<Protocol> spoken_;              // once there is a first byte
  TextAuthentication* authentication_ = nullptr;  // spoken_, while it is that
};

class MemcachedFactory final : public ProtocolFactory {
 public:
  explicit MemcachedFactory(ProtocolOptions options) : options_(std::move(options)) {}

  std::unique_ptr<Protocol> Make(Connection* connection) const override {
    return std::make_unique<MemcachedProtocol>(connection, options_);
  }
  std::string_view too_many_connections() const override {
    return "ERROR Too many open connections\r\n";
  }

 private:
  ProtocolOptions options_;
};

}  // namespace plov::door::memcached
