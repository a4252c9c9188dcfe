// Watched words: verify/words.h with observers that are told after every store of a shared word,
// and before the copy of one.
//
// This header is forced in front of every source of what links plov_watched (-include), so that the real
// writer, compiled once more, can be stopped between any two of its stores, in one thread and in
// the same way each time.
#pragma once

#include <functional>

#define StoreWord StoreWordUnwatched
#define PublishSeal PublishSealUnwatched
#define RetractLive RetractLiveUnwatched
#define CopyFromShared CopyFromSharedUnwatched
#define CopySealedFromShared CopySealedFromSharedUnwatched
#define CopyWordsFromShared CopyWordsFromSharedUnwatched
#include "verify/words.h"
#undef StoreWord
#undef PublishSeal
#undef RetractLive
#undef CopyFromShared
#undef CopySealedFromShared
#undef CopyWordsFromShared

namespace plov::verify {

enum class Store { kWord, kSeal, kLive };

// Called after the store; must not store itself.
inline std::function<void(Store, const uint64_t*)> store_observer;

// Called before each word that a reader copies, so that others can have a turn there.
inline std::function<void()> copy_observer;

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

inline void CopyFromShared(void* to, const void* shared, size_t bytes) {
  if (!copy_observer) return CopyFromSharedUnwatched(to, shared, bytes);
  for (size_t at = 0; at < bytes; at += kWordBytes) {
    copy_observer();
    CopyFromSharedUnwatched(static_cast<std::byte*>(to) + at,
                            static_cast<const std::byte*>(shared) + at,
                            bytes - at < kWordBytes ? bytes - at : kWordBytes);
  }
}

inline void CopySealedFromShared(void* to, const void* shared, size_t bytes) {
  CopyFromShared(to, shared, bytes);
}

template <size_t kWords>
inline void CopyWordsFromShared(uint64_t* to, const void* shared) {
  CopyFromShared(to, shared, kWords * kWordBytes);
}

}  // namespace plov::verify
