// The server of an emulated design: a process of its own, which holds the items, and answers where
// the design has the server's CPU answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "bench/designs/layout.h"
#include "program/process.h"
#include "verify/error.h"

namespace plov::bench {

// The word that makes plov-bench such a server; no command of its users.
inline constexpr const char* kServeDesign = "serve-design";
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

// Starts it, and waits until it serves. kUnavailable.
std::expected<program::Process, Error> StartDesignServer(const DesignServerOptions& options);

// Its main, given the words behind kServeDesign; the exit status. Serves until it is killed.
int ServeDesign(std::span<const std::string> words);

}  // namespace plov::bench
