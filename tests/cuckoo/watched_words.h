// Watched words: verify/words.h with an observer that is told after every store of a shared word.
//
// This header is forced in front of every source of cuckoo_store_test (-include), so that the real
// writer, compiled once more, can be stopped between any two of its stores, in one thread and in
// the same way each time.
#pragma once

#include <functional>

#define StoreWord StoreWordUnwatched
#define PublishSeal PublishSealUnwatched
#define RetractLive RetractLiveUnwatched
#include "verify/words.h"
#undef StoreWord
#undef PublishSeal
#undef RetractLive

namespace plov::verify {

enum class Store { kWord, kSeal, kLive };

// Called after the store; must not store itself.
inline std::function<void(Store, const uint64_t*)> store_observer;

// For an observer that refers to the test's own variables, also when the test ends early.
struct ObserverReset {
  ~ObserverReset() { store_observer = nullptr; }
};

inline void TellObserver(Store store, const uint64_t* word) {
  if (store_observer) store_observer(store, word);
}

inline void StoreWord(uint64_t* word, uint64_t value) {
  StoreWordUnwatched(word, value);
  TellObserver(Store::kWord, word);
}

inline void PublishSeal(uint64_t* checksum, uint64_t value) {
  PublishSealUnwatched(checksum, value);
  TellObserver(Store::kSeal, checksum);
}

inline void RetractLive(uint64_t* live) {
  RetractLiveUnwatched(live);
  TellObserver(Store::kLive, live);
}

}  // namespace plov::verify
