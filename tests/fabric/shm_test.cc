// The shared-memory fabric's own matters: names and paths, what lies in the file system, who may
// map what.

#include "fabric/shm/shm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fabric/shm_tools.h"

namespace plov::fabric::shm {

namespace {

namespace fs = std::filesystem;

// Sets a variable of the environment until it goes.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* former = std::getenv(name)) former_ = former;
    Set(value);
  }
  ~Environment() { Set(former_ ? former_->c_str() : nullptr); }

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> former_;
};

std::string PathOfGood(std::string_view uri) { return Must(SocketPath(uri)); }

bool Exists(const std::string& path) { return fs::exists(fs::symlink_status(path)); }

// Leaves a socket file behind that nobody listens on, as a killed server does.
void LeaveStaleSocket(const std::string& path) {
  const Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
}

bool MapsWritable(int fd, size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, bytes);
  return true;
}

Code ListenCode(const std::string& uri) {
  const ExposedMemory memory = Shm().make_memory(4096);
  return CodeOf(Listen(uri, {.shards = {{memory.bytes, memory.fd}}}));
}

}  // namespace

TEST(ShmAddress, OnlyTheSchemeMakesItShm) {
  EXPECT_TRUE(IsShm("shm:x") && IsShm("shm:/x") && IsShm("shm:"));
  EXPECT_FALSE(IsShm("shm") || IsShm("") || IsShm("SHM:x") || IsShm(" shm:x") ||
               IsShm("rdma://h:1"));
}

TEST(ShmAddress, PathIsTaken) {
  EXPECT_EQ(PathOfGood("shm:/run/x.sock"), "/run/x.sock");
  EXPECT_EQ(PathOfGood("shm:/a b/c:d"), "/a b/c:d");
}

TEST(ShmAddress, NameIsASocketInTheUsersRunFolder) {
  const Environment runtime("XDG_RUNTIME_DIR", "/run/user/7");
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(PathOfGood("shm:Kv-1_a.b"),
            root ? "/run/plov/Kv-1_a.b.sock" : "/run/user/7/plov-Kv-1_a.b.sock");
}

TEST(ShmAddress, NameWithoutARunFolderIsASocketInTheUsersOwnTemporaryFolder) {
  for (const char* value : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Environment runtime("XDG_RUNTIME_DIR", value);
    const std::string uid = std::to_string(::geteuid());
    EXPECT_EQ(PathOfGood("shm:kv"),
              ::geteuid() == 0 ? "/run/plov/kv.sock" : "/tmp/plov-" + uid + "/kv.sock");
  }
}

TEST(ShmAddress, BadNameIsRefused) {
  for (const std::string name : {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\n", "ä", "a:b",
                                 "a*", "~", "$HOME", "-/", "a\\b"}) {
    EXPECT_EQ(CodeOf(SocketPath("shm:" + name)), Code::kInvalidArgument) << name;
    EXPECT_EQ(CodeOf(Connect("shm:" + name, OptionsFor(0, 1))), Code::kInvalidArgument) << name;
    EXPECT_EQ(ListenCode("shm:" + name), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(CodeOf(SocketPath(std::string("shm:a\0b", 7))), Code::kInvalidArgument);
}

// The kernel would end the path at the zero, and another file would be meant.
TEST(ShmAddress, PathWithAZeroByteIsRefused) {
  EXPECT_EQ(CodeOf(SocketPath(std::string("shm:/tmp/a\0b", 12))), Code::kInvalidArgument);
}

TEST(ShmAddress, PathTooLongForASocketIsRefused) {
  const size_t bytes_max = sizeof(sockaddr_un{}.sun_path) - 1;
  const std::string longest = "/" + std::string(bytes_max - 1, 'x');
  EXPECT_EQ(PathOfGood("shm:" + longest), longest);
  EXPECT_EQ(CodeOf(SocketPath("shm:" + longest + "x")), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(SocketPath("shm:" + std::string(bytes_max, 'x'))), Code::kInvalidArgument);
}

TEST(ShmFiles, CleanStopLeavesNothingBehind) {
  auto server = std::make_unique<TestServer>(ServeShm());
  const std::string path = PathOf(*server);
  EXPECT_TRUE(Exists(path) && Exists(path + ".lock"));
  const auto client = server->Connect();
  server.reset();
  EXPECT_FALSE(Exists(path));
  EXPECT_FALSE(Exists(path + ".lock"));
}

TEST(ShmFiles, RefusedSecondServerLeavesTheFirstsFiles) {
  TestServer server = ServeShm();
  const std::string path = PathOf(server);
  EXPECT_EQ(ListenCode(server.uri()), Code::kInUse);
  EXPECT_TRUE(Exists(path) && Exists(path + ".lock"));
  EXPECT_NE(server.Connect(), nullptr);
}

TEST(ShmFiles, StaleSocketAndLockAreReplaced) {
  const std::string path = FreshPath();
  LeaveStaleSocket(path);
  std::ofstream(path + ".lock").put('x');
  EXPECT_EQ(CodeOf(Connect("shm:" + path, OptionsFor(0, 1))), Code::kUnavailable);
  TestServer server(Shm(), "shm:" + path);
  EXPECT_NE(server.Connect(), nullptr);
}

// A mistyped --listen must not cost anyone a file.
TEST(ShmFiles, FileThatIsNoSocketIsNotReplaced) {
  const std::string path = FreshPath(".txt");
  std::ofstream(path) << "precious";
  EXPECT_EQ(ListenCode("shm:" + path), Code::kInvalidArgument);
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "precious");
  EXPECT_FALSE(Exists(path + ".lock"));
}

TEST(ShmFiles, FolderThatDoesNotExistIsAnError) {
  const std::string path = FreshPath("/no/such/x.sock");
  EXPECT_EQ(ListenCode("shm:" + path), Code::kSystem);
  EXPECT_EQ(CodeOf(Connect("shm:" + path, OptionsFor(0, 1))), Code::kUnavailable);
}

TEST(ShmFiles, LockThatIsALinkIsNotFollowed) {
  const std::string path = FreshPath();
  const std::string target = FreshPath(".txt");
  fs::create_symlink(target, path + ".lock");
  EXPECT_EQ(ListenCode("shm:" + path), Code::kSystem);
  EXPECT_FALSE(Exists(target));
}

TEST(ShmFiles, SocketIsForTheServersUserOnly) {
  const mode_t former = ::umask(0);
  TestServer server = ServeShm();
  ::umask(former);
  struct stat status;
  ASSERT_EQ(::stat(PathOf(server).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// The descriptors are what a client holds, whatever its code does with them.
TEST(ShmRights, ClientCannotMapTheRegionWritable) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  const int region = client.fds[kRegionFd].get();
  EXPECT_TRUE(Mapping::Map(region, TestServer::kRegionBytes, PROT_READ).has_value());
  EXPECT_FALSE(MapsWritable(region, TestServer::kRegionBytes));
  const char byte = 1;
  EXPECT_EQ(::pwrite(region, &byte, 1, 0), -1);
  EXPECT_NE(::ftruncate(region, 0), 0);
}

TEST(ShmRights, ClientCannotMakeAReadOnlyMappingWritable) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  const auto mapping =
      Must(Mapping::Map(client.fds[kRegionFd].get(), TestServer::kRegionBytes, PROT_READ));
  const auto bytes = mapping.bytes();
  EXPECT_NE(::mprotect(bytes.data(), bytes.size(), PROT_READ | PROT_WRITE), 0);
}

// The life page holds a pthread mutex, with pointers that the server follows when it unlocks it.
TEST(ShmRights, ClientCannotWriteTheLifePage) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  const int life = client.fds[kLifeFd].get();
  EXPECT_FALSE(MapsWritable(life, 4096));
  const char byte = 1;
  EXPECT_EQ(::pwrite(life, &byte, 1, 0), -1);
}

// A file that a peer shortens makes the other side's mapping fault.
TEST(ShmRights, ClientCannotShortenTheChannel) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  EXPECT_NE(::ftruncate(client.fds[kChannelFd].get(), 0), 0);
  EXPECT_NE(::ftruncate(client.fds[kChannelFd].get(), 1 << 30), 0);
}

TEST(ShmRights, DescriptorsDoNotOutliveExec) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  for (const Fd& fd : client.fds) EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

}  // namespace plov::fabric::shm
