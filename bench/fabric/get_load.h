// GetLoad: items of one kind on a server, and GETs of them, every value checked.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::bench {

// What GETs came to. READs are for each GET.
struct GetResult {
  double gets_per_second = 0;
  double bucket_reads = 0;
  double record_reads = 0;
  double median_us = 0;  // one at a time
  double p99_us = 0;

  double reads() const { return bucket_reads + record_reads; }
};

struct GetLoadOptions {
  std::string uri;
  std::string kind;  // a letter; keys begin with it
  uint64_t items = 0;
  uint32_t value_bytes = 0;
  uint32_t window = 0;
  bool remembers = false;  // where items are
};

// Threads: one.
class GetLoad {
 public:
  static constexpr size_t kKeyBytes = 16;

  // Connects. Errors: the client's.
  static std::expected<GetLoad, Error> Create(const GetLoadOptions& options);

  // Stores the items.
  std::expected<void, Error> Store();
  // Gets all of them once, so that what can be remembered is.
  std::expected<void, Error> WarmUp();

  // Gets items in random order for a time, with a window in flight or one at a time. Errors:
  // kCorrupt (a wrong value), the client's.
  std::expected<GetResult, Error> GetMany(std::chrono::microseconds duration);
  std::expected<GetResult, Error> GetSingly(std::chrono::microseconds duration);

 private:
  GetLoad(Client client, const GetLoadOptions& options);
  std::string ValueOf(std::string_view key) const;
  std::expected<void, Error> Check(std::string_view key, const Client::GetResult& result) const;
  std::expected<void, Error> GetNext(size_t count);
  void AddReads(const ClientStats& before, GetResult* result) const;

  Client client_;
  uint32_t value_bytes_;
  std::vector<std::string> keys_;
  std::vector<std::string_view> order_;
  size_t next_ = 0;
};

}  // namespace plov::bench
