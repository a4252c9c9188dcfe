// HostileServer: what a client takes for a server, with every byte under the test's control.
//
// Its own thread accepts, welcomes and answers as the test says; its memory is real, sealed and
// sparse. Left alone it is an honest, empty server of one shard.
#pragma once

#include <plov/client.h>

#include <atomic>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "fabric/shm/channel.h"
#include "fabric/shm/life.h"
#include "tests/support/folder.h"
#include "verify/bucket.h"
#include "verify/message.h"
#include "verify/superblock.h"

namespace plov::test {

class HostileServer {
 public:
  struct Peer {
    fabric::Fd socket;
    uint64_t client_id;
    fabric::shm::Channel channel;
    fabric::shm::RingReader requests;
    fabric::shm::RingWriter replies;
  };

  static constexpr uint64_t kBuckets = 64;

  explicit HostileServer(size_t region_bytes = 1 << 20);
  ~HostileServer();

  // To be set before Start. What they refer to outlives the server, whose thread calls them.
  std::function<void(fabric::shm::Welcome*)> change_welcome = [](auto*) {};
  std::function<void(const verify::Request&, verify::Reply*)> change_reply = [](auto&, auto*) {};
  // Called over and over for each client, after its messages were answered.
  std::function<void(Peer*)> harass = [](auto*) {};
  verify::Superblock superblock{};
  uint64_t clock_us = 1'700'000'000'000'000;

  void Start();
  const std::string& uri() const { return uri_; }
  std::byte* memory() const { return region_.bytes().data(); }
  uint64_t connects() const { return connects_.load(std::memory_order_relaxed); }

  void Publish();
  // Seals a bucket of the first table; it lies there then.
  void Store(uint64_t index, verify::Bucket bucket);
  void Send(Peer* peer, verify::MessageWriter* message, uint64_t answered);

 private:
  void Serve(const std::stop_token& stop);
  void Accept();
  void Answer(Peer* peer);

  TemporaryFolder folder_;
  std::string uri_;
  fabric::Fd socket_;
  fabric::Fd region_fd_;
  fabric::Mapping region_;
  fabric::shm::LifeHolder life_;
  std::list<Peer> peers_;
  std::atomic<uint64_t> connects_ = 0;
  std::jthread thread_;
};

}  // namespace plov::test
