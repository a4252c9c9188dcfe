#include "tests/client/hostile_server.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <stdexcept>

#include "cuckoo/geometry.h"
#include "verify/words.h"

namespace plov::test {

namespace shm = fabric::shm;
using cuckoo::Geometry;
using verify::MessageReader;
using verify::MessageWriter;

namespace {

constexpr size_t kStagingBytes = 1 << 20;

template <typename T>
T Must(std::expected<T, Error> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

}  // namespace

HostileServer::HostileServer(size_t region_bytes)
    : uri_("shm:" + folder_.path() + "/s"),
      socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      region_fd_(Must(fabric::CreateMemory("plov-hostile", region_bytes))),
      region_(Must(fabric::Mapping::Map(region_fd_.get(), region_bytes, PROT_READ | PROT_WRITE))),
      life_(Must(shm::LifeHolder::Create())) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  uri_.copy(address.sun_path, sizeof(address.sun_path) - 1, 4);
  if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket_.get(), 64) != 0) {
    throw std::runtime_error("cannot listen");
  }
  superblock.version = 1;
  superblock.incarnation = 0x686f7374;
  superblock.hash_seed = 5;
  superblock.region_bytes = region_bytes;
  superblock.shard_count = 1;
  superblock.value_bytes_max = 1 << 20;
  superblock.tables[0] = {1, verify::kRegionHeadBytes, kBuckets, verify::kBucketBytesMin, 0};
  for (uint64_t i = 0; i < kBuckets; ++i) Store(i, verify::Bucket());
}

HostileServer::~HostileServer() = default;

void HostileServer::Publish() {
  verify::SealSuperblock(&superblock);
  verify::StoreSuperblock(verify::WordsAt(memory(), 0), superblock);
}

void HostileServer::Store(uint64_t index, verify::Bucket bucket) {
  const Geometry table = Geometry::Of(superblock.tables[0], superblock.incarnation);
  bucket.Seal(table.bucket_bytes, table.SeedOf(index));
  verify::StoreBucket(verify::WordsAt(memory(), table.BucketOffset(index)), bucket,
                      table.bucket_bytes);
}

void HostileServer::Start() {
  Publish();
  thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
}

void HostileServer::Serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Accept();
    for (Peer& peer : peers_) {
      Answer(&peer);
      harass(&peer);
    }
    std::this_thread::yield();
  }
}

void HostileServer::Accept() {
  fabric::Fd fresh(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fresh) return;
  connects_.fetch_add(1, std::memory_order_relaxed);
  shm::Hello hello{};
  if (::recv(fresh.get(), &hello, sizeof(hello), 0) != sizeof(hello)) return;
  const fabric::Fd memory =
      Must(fabric::CreateMemory("plov-hostile-channel", shm::Channel::kBytes));
  Peer peer{.socket = std::move(fresh),
            .client_id = hello.client_id,
            .channel = {Must(
                fabric::Mapping::Map(memory.get(), shm::Channel::kBytes, PROT_READ | PROT_WRITE))},
            .requests = {},
            .replies = {}};
  peer.requests = {peer.channel.request_control(), peer.channel.request_data()};
  peer.replies = {peer.channel.reply_control(), peer.channel.reply_data()};
  shm::Welcome welcome{shm::kHandshakeMagic, 0, verify::kFormatVersion, region_.bytes().size(),
                       kStagingBytes};
  change_welcome(&welcome);
  const std::array<int, shm::kHandshakeFds> fds = {region_fd_.get(), life_.fd(), memory.get()};
  shm::SendWelcome(peer.socket.get(), welcome, fds);
  peers_.push_back(std::move(peer));
}

void HostileServer::Send(Peer* peer, MessageWriter* message, uint64_t answered) {
  const auto bytes = message->Finish({.answered = answered, .clock_us = clock_us});
  peer->replies.Write(bytes);
  if (peer->replies.TakeSleeper()) shm::WakePeer(peer->socket.get());
}

void HostileServer::Answer(Peer* peer) {
  std::vector<std::byte> message(shm::kMessageBytesMax), buffer(shm::kMessageBytesMax);
  size_t bytes = 0;
  if (peer->requests.Read(message, &bytes) != shm::RingReader::Result::kMessage) return;
  auto requests = MessageReader::Open(std::span(message).first(bytes), peer->client_id,
                                      MessageReader::Holds::kRequests);
  MessageWriter replies(buffer, peer->client_id);
  while (requests) {
    const auto request = requests->NextRequest();
    if (!request) break;
    verify::Reply reply;
    reply.request_id = request->request_id;
    if (request->operation == verify::Operation::kGet) reply.status = Code::kNotFound;
    change_reply(*request, &reply);
    replies.Add(reply);
  }
  Send(peer, &replies, superblock.version);
}

}  // namespace plov::test
