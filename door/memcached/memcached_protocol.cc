#include "door/memcached/memcached_protocol.h"

#include "door/memcached/binary_protocol.h"
#include "door/memcached/text_protocol.h"

namespace plov::door::memcached {

void MemcachedProtocol::Begin(char first) {
  if (first == kBinaryRequestMagic) {
    spoken_ = std::make_unique<BinaryProtocol>(connection_, options_);
  } else if (options_.users == nullptr) {
    spoken_ = std::make_unique<TextProtocol>(connection_, options_);
  } else {
    auto authentication = std::make_unique<TextAuthentication>(connection_, *options_.users);
    authentication_ = authentication.get();
    spoken_ = std::move(authentication);
  }
}

size_t MemcachedProtocol::Take(std::string_view input) {
  if (spoken_ == nullptr) Begin(input.front());
  const size_t taken = spoken_->Take(input);
  if (authentication_ != nullptr && authentication_->is_over()) {
    authentication_ = nullptr;
    spoken_ = std::make_unique<TextProtocol>(connection_, options_);
  }
  return taken;
}

}  // namespace plov::door::memcached
