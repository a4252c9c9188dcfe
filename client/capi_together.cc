// C API: several keys at once.

#include <span>
#include <vector>

#include "client/capi.h"

using namespace plov::capi;

namespace {

struct Commit {
  std::vector<plov::CommitRead> reads;
  std::vector<plov::CommitWrite> writes;

  // False: an argument is null.
  bool Take(const plov_commit_read* given_reads, size_t read_count,
            const plov_commit_write* given_writes, size_t write_count) {
    if ((given_reads == nullptr && read_count > 0) ||
        (given_writes == nullptr && write_count > 0)) {
      return false;
    }
    for (const plov_commit_read& read : std::span(given_reads, read_count)) {
      if (!IsGood(read.key)) return false;
      reads.push_back({Text(read.key), read.version});
    }
    for (const plov_commit_write& write : std::span(given_writes, write_count)) {
      if (!IsGood(write.key) || !IsGood(write.value)) return false;
      writes.push_back({.key = Text(write.key),
                        .value = {},
                        .flags = write.flags,
                        .ttl = TtlOf(write.ttl_seconds)});
      if (write.deletes == 0) writes.back().value = Text(write.value);
    }
    return true;
  }
};

}  // namespace

plov_code plov_snapshot(plov_client* client, const plov_view* keys, size_t count,
                        plov_get_callback done, void* context) {
  if (client == nullptr || done == nullptr || (keys == nullptr && count > 0)) {
    return RefuseNull(client);
  }
  return Run(client, [&] {
    if (!TakeKeys(client, keys, count)) return RefuseNull(client);
    const auto items = client->client.Snapshot(client->keys);
    if (!items) return Note(&client->last, items.error());
    for (size_t i = 0; i < count; ++i) Tell(done, context, i, (*items)[i]);
    return PLOV_OK;
  });
}

plov_code plov_commit(plov_client* client, const plov_commit_read* reads, size_t read_count,
                      const plov_commit_write* writes, size_t write_count, uint64_t* version) {
  if (client == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    Commit commit;
    if (!commit.Take(reads, read_count, writes, write_count)) return RefuseNull(client);
    return Answer(client, client->client.Commit(commit.reads, commit.writes), version);
  });
}

plov_code plov_start_commit(plov_client* client, const plov_commit_read* reads, size_t read_count,
                            const plov_commit_write* writes, size_t write_count,
                            plov_write_callback done, void* context) {
  if (client == nullptr || done == nullptr) return RefuseNull(client);
  Commit commit;
  const plov_code taken = Catch(&client->last, [&] {
    return commit.Take(reads, read_count, writes, write_count) ? PLOV_OK : RefuseNull(client);
  });
  if (taken != PLOV_OK) return taken;
  return Start(client, [&] {
    client->client.StartCommit(
        commit.reads, commit.writes,
        [done, context](const plov::Client::PutResult& result) { Tell(done, context, 0, result); });
  });
}
