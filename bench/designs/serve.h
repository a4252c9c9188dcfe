// The server of an emulated design: a process of its own, which holds the items, and answers where
// the design has the server's CPU answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

#include "bench/designs/layout.h"
#include "program/process.h"
#include "verify/error.h"

namespace plov::bench {

// What client and server of one release have in common.
inline constexpr uint32_t kDesignFormat = 0x64736e01;

// HERD's messages: the request is the key; the reply this byte and the value, or nothing else.
inline constexpr std::byte kReplyFound{1};
inline constexpr std::byte kReplyAbsent{0};

struct DesignServerOptions {
  std::string uri;
  Design design = Design::kPilaf;
  ItemShape shape;
  uint64_t items = 0;  // of all parts
  ItemPart part = {};
};

// Starts it, and waits until it serves; it does until it is killed. Before this process has threads.
// Errors: kUnavailable, kSystem.
std::expected<program::Process, Error> StartDesignServer(const DesignServerOptions& options);

}  // namespace plov::bench
