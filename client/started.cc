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

void Started::StartedGet::Queue(Started* started) {
  started->gets_->Queue(key_, deadline_,
                        {[](void* context, size_t, Client::GetResult result) {
                           auto* self = static_cast<StartedGet*>(context);
                           const auto owned = Ended(self);
                           self->done_(std::move(result));
                         },
                         this, 0});
}

void Started::StartedWrite::Queue(Started* started) {
  write_.context = this;
  write_.done = [](void* context, size_t, WriteResult result) {
    auto* self = static_cast<StartedWrite*>(context);
    const auto owned = Ended(self);
    self->Tell(std::move(result));
  };
  started->writes_->Queue(write_);
}

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

bool Started::MayRun(const Place& place, const Operation& operation) const {
  return closed_ || place.running == 0 || place.writes == operation.is_write_;
}

// What waits needs no deadline of its own: those before it have earlier ones.
void Started::Start(std::unique_ptr<Operation> operation) {
  ++count_;
  try {
    if (places_.empty()) places_.resize(place_count());
  } catch (const std::bad_alloc&) {
    return EndAtOnce(std::move(operation), NoMemory());
  }
  operation->owner_ = this;
  operation->place_ = PlaceOf(operation->key());
  Place& place = places_[operation->place_];
  if (place.first == nullptr && MayRun(place, *operation)) return Run(std::move(operation));
  Operation* last = operation.release();
  (place.first == nullptr ? place.first : place.last->next_) = last;
  place.last = last;
}

void Started::Run(std::unique_ptr<Operation> operation) {
  if (closed_) return EndAtOnce(std::move(operation), *closed_);
  Place& place = places_[operation->place_];
  const bool writes = operation->is_write_;
  try {
    operation->Queue(this);
  } catch (const std::bad_alloc&) {
    return EndAtOnce(std::move(operation), NoMemory());
  }
  operation.release();  // it comes back with its result
  ++place.running;
  place.writes = writes;
}

void Started::EndAtOnce(std::unique_ptr<Operation> operation, const Error& error) {
  --count_;
  callbacks_->Run([&] { operation->Fail(error); });
}

std::unique_ptr<Started::Operation> Started::Ended(Operation* ended) {
  std::unique_ptr<Operation> operation(ended);
  Started* owner = operation->owner_;
  Place& place = owner->places_[operation->place_];
  --owner->count_;
  --place.running;
  while (place.first != nullptr && owner->MayRun(place, *place.first)) {
    std::unique_ptr<Operation> next(place.first);
    place.first = next->next_;
    owner->Run(std::move(next));
  }
  return operation;
}

}  // namespace plov
