#include "client/started.h"

#include <xxhash.h>

#include <new>
#include <utility>

namespace plov {

namespace {

constexpr size_t kPlaces = 1024;
// A hash for each of so many shards; 400 KB in all.
constexpr size_t kShardGroups = 16;

}  // namespace

struct Started::Operation {
  Started* owner;
  size_t place;
  bool is_write;
  std::string_view key = {};  // of a GET
  Deadline deadline = {};
  Client::GetCallback get_done = {};
  Write write = {};
  WriteCallback write_done = {};
  Operation* next = nullptr;  // that waits after it

  void Fail(const Error& error) {
    if (is_write) {
      write_done(std::unexpected(error));
    } else {
      get_done(std::unexpected(error));
    }
  }
};

size_t Started::PlaceOf(std::string_view key) const {
  const size_t place = XXH3_64bits(key.data(), key.size()) % kPlaces;
  if (!peers_->is_cluster()) return place;
  return peers_->ShardOf(peers_->HashOf(key)) % kShardGroups * kPlaces + place;
}

size_t Started::place_count() const {
  return peers_->is_cluster() ? kShardGroups * kPlaces : kPlaces;
}

bool Started::Has(std::string_view key) const {
  return count_ > 0 && places_[PlaceOf(key)].running > 0;
}

void Started::StartGet(std::string_view key, Deadline deadline, Client::GetCallback&& done) {
  auto operation = std::make_unique<Operation>(Operation{this, PlaceOf(key), false, key});
  if (places_.empty()) places_.resize(place_count());
  operation->deadline = deadline;
  operation->get_done = std::move(done);
  Start(std::move(operation));
}

void Started::StartWrite(Write write, Deadline deadline, WriteCallback&& done) {
  auto operation = std::make_unique<Operation>(Operation{this, PlaceOf(write.key), true});
  if (places_.empty()) places_.resize(place_count());
  operation->write = write;
  operation->write.deadline = deadline;
  operation->write_done = std::move(done);
  Start(std::move(operation));
}

bool Started::MayRun(const Place& place, const Operation& operation) const {
  return closed_ || place.running == 0 || place.writes == operation.is_write;
}

// What waits needs no deadline of its own: those before it have earlier ones.
void Started::Start(std::unique_ptr<Operation> operation) {
  ++count_;
  Place& place = places_[operation->place];
  if (place.first == nullptr && MayRun(place, *operation)) return Run(std::move(operation));
  Operation* last = operation.release();
  (place.first == nullptr ? place.first : place.last->next) = last;
  place.last = last;
}

void Started::Run(std::unique_ptr<Operation> operation) {
  std::optional<Error> error = closed_;
  try {
    if (!closed_) Queue(operation.get());
  } catch (const std::bad_alloc&) {
    error = NoMemory();
  }
  if (!error) {
    operation.release();  // it comes back with its result
    return;
  }
  --count_;
  callbacks_->Run([&] { operation->Fail(*error); });
}

void Started::Queue(Operation* operation) {
  if (operation->is_write) {
    operation->write.context = operation;
    operation->write.done = [](void* context, size_t, WriteResult result) {
      Ended(context)->write_done(std::move(result));
    };
    writes_->Queue(operation->write);
  } else {
    gets_->Queue(operation->key, operation->deadline,
                 {[](void* context, size_t, Client::GetResult result) {
                    Ended(context)->get_done(std::move(result));
                  },
                  operation, 0});
  }
  Place& place = places_[operation->place];
  ++place.running;
  place.writes = operation->is_write;
}

// Those that waited for it go on before its caller is told.
std::unique_ptr<Started::Operation> Started::Ended(void* context) {
  std::unique_ptr<Operation> operation(static_cast<Operation*>(context));
  Started* owner = operation->owner;
  Place& place = owner->places_[operation->place];
  --owner->count_;
  --place.running;
  while (place.first != nullptr && owner->MayRun(place, *place.first)) {
    std::unique_ptr<Operation> next(place.first);
    place.first = next->next;
    owner->Run(std::move(next));
  }
  return operation;
}

}  // namespace plov
