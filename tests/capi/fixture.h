// A plovd and a client of it in C.
#pragma once

#include <gtest/gtest.h>
#include <plov.h>
#include <sys/wait.h>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/support/plovd.h"

namespace plov::test {

struct Closer {
  void operator()(plov_client* client) const { EXPECT_EQ(plov_close(client), PLOV_OK); }
};
using CClient = std::unique_ptr<plov_client, Closer>;

inline CClient ConnectInC(const std::string& uri, uint64_t timeout_us = 20'000'000) {
  plov_options options = plov_default_options();
  options.timeout_us = timeout_us;
  plov_client* client = nullptr;
  plov_error error;
  if (plov_connect(uri.c_str(), &options, &client, &error) != PLOV_OK) {
    throw std::runtime_error(error.message);
  }
  return CClient(client);
}

inline std::string String(plov_view view) {
  return {static_cast<const char*>(view.data), view.bytes};
}

inline std::string LastMessage(const plov_client* client) {
  return plov_last_error(client)->message;
}

// All zero but what is given.
inline plov_put_options PutOptionsOf(plov_put_mode mode, uint32_t flags = 0,
                                     uint64_t expected_version = 0, uint64_t ttl_seconds = 0) {
  return {mode, flags, expected_version, ttl_seconds};
}

// What plov_get finds, or the name of the code.
inline std::string Value(plov_client* client, const char* key) {
  plov_item item;
  const plov_code code = plov_get(client, plov_text(key), &item);
  return code == PLOV_OK ? String(item.value) : plov_code_name(code);
}

// A signal takes a while to reach every thread of the server; returns when all have stopped.
inline void Stop(const Plovd& server) {
  server.Signal(SIGSTOP);
  siginfo_t info;
  if (::waitid(P_PID, static_cast<id_t>(server.pid()), &info, WSTOPPED) != 0) {
    throw std::runtime_error("plovd does not stop");
  }
}

class CapiTest : public testing::Test {
 protected:
  Plovd server_{{"--memory", "64M"}};
  CClient client_ = ConnectInC(server_.uri());
};

}  // namespace plov::test
