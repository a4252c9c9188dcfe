// Access: who may write, and who may only read, of those that a listener lets in.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plov::fabric {

// Somebody, as the kernel knows him; without a user where it does not, as over RDMA.
struct Person {
  std::optional<uid_t> user = {};
  std::vector<gid_t> groups = {};
};

struct AccessList {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;

  bool Has(const Person& person) const;
};

inline constexpr const char* kMayNotWrite =
    "this client may only read: its user is not among plovd's --writers, or is among its --readers";

inline constexpr const char* kOnlyReads =
    "this connection only READs: connect without reads_only to send messages and values";

enum class Right : uint8_t { kNone, kRead, kWrite };

// Without lists everybody may write. Root and the server's own user always may.
struct Access {
  std::optional<AccessList> writers;  // then others may read, or nothing where there are readers
  std::optional<AccessList> readers;  // then others may write, unless there are writers

  Right Of(const Person& person) const;
  // Who may change how the server runs: root and the server's own user; who may write, where nobody
  // is known.
  bool MayAdminister(const Person& person) const;
};

}  // namespace plov::fabric
