// LMDB as its fastest users have it: a database in memory, filled in the order of its keys, read in
// one read transaction. What mdb_get finds is a pointer into the mapped file; nothing is copied.

#include <lmdb.h>

#include <filesystem>

#include "bench/peers/peer.h"

namespace plov::bench {

namespace {

constexpr uint64_t kBytesPerItem = 512;      // of addresses; what is not used is not taken
constexpr uint64_t kBytesPerItemUsed = 192;  // generous
constexpr uint64_t kBytesAtLeast = uint64_t{64} << 20;

std::unexpected<Error> Failed(int result) {
  return Fail(Code::kSystem, std::string("LMDB: ") + ::mdb_strerror(result));
}

MDB_val ValueOf(std::string_view text) {
  return {.mv_size = text.size(), .mv_data = const_cast<char*>(text.data())};
}

class Lmdb final : public Peer {
 public:
  explicit Lmdb(const Work& work) : Peer(work) {}
  ~Lmdb() override {
    if (transaction_ != nullptr) ::mdb_txn_abort(transaction_);
    if (environment_ != nullptr) ::mdb_env_close(environment_);
  }

  std::expected<void, Error> Open(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directory(folder, failed);
    int result = ::mdb_env_create(&environment_);
    const size_t bytes = kBytesAtLeast + work().count() * kBytesPerItem;
    if (result == 0) result = ::mdb_env_set_mapsize(environment_, bytes);
    if (result == 0) {
      constexpr unsigned int kFlags = MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD;
      result = ::mdb_env_open(environment_, folder.c_str(), kFlags, 0600);
    }
    if (result == 0) result = Fill();
    if (result == 0) result = ::mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction_);
    if (result != 0) return Failed(result);
    return {};
  }

  bool Can(Way way) const override { return way == Way::kGet; }

  std::expected<void, Error> Do(Way, Range range) override {
    for (const std::string_view key : keys(range)) {
      MDB_val name = ValueOf(key);
      MDB_val found;
      if (const int result = ::mdb_get(transaction_, database_, &name, &found); result != 0) {
        return Failed(result);
      }
      const std::string_view value(static_cast<const char*>(found.mv_data), found.mv_size);
      if (!work().IsRight(key, value)) return work().Wrong(key);
    }
    return {};
  }

 private:
  // Numbers in their order are keys in theirs, which fills every page.
  int Fill() {
    MDB_txn* transaction = nullptr;
    int result = ::mdb_txn_begin(environment_, nullptr, 0, &transaction);
    if (result == 0) result = ::mdb_dbi_open(transaction, nullptr, 0, &database_);
    std::string key;
    std::string value;
    for (uint64_t number = 0; number < work().count() && result == 0; ++number) {
      work().items().FillKey(number, &key);
      work().items().FillValue(number, key, &value);
      MDB_val name = ValueOf(key);
      MDB_val data = ValueOf(value);
      result = ::mdb_put(transaction, database_, &name, &data, MDB_APPEND);
    }
    if (result == 0) return ::mdb_txn_commit(transaction);
    if (transaction != nullptr) ::mdb_txn_abort(transaction);
    return result;
  }

  MDB_env* environment_ = nullptr;
  MDB_txn* transaction_ = nullptr;
  MDB_dbi database_ = 0;
};

// In memory where there is room: containers often have little.
std::string FolderFor(const Work& work, const PeerPlace& place) {
  std::error_code failed;
  const auto space = std::filesystem::space(place.memory_folder, failed);
  const bool fits = !failed && space.available >= kBytesAtLeast + work.count() * kBytesPerItemUsed;
  return (fits ? place.memory_folder : place.folder) + "/lmdb";
}

}  // namespace

StartedPeer StartLmdb(const Work& work, const PeerPlace& place) {
  auto lmdb = std::make_unique<Lmdb>(work);
  if (auto opened = lmdb->Open(FolderFor(work, place)); !opened) {
    return std::unexpected(opened.error());
  }
  return lmdb;
}

}  // namespace plov::bench
