#include "cuckoo/rewrites.h"

namespace plov::cuckoo {

void Rewrites::Keep(uint64_t* words, const Kept& bucket) {
  const auto [at, is_new] = index_.try_emplace(words, kept_.size());
  if (is_new) {
    kept_.push_back(bucket);
  } else {
    kept_[at->second] = bucket;
  }
}

void Rewrites::Record(const verify::CommitJournal& journal,
                      const verify::CommitDecision& decision) {
  if (journal_ == nullptr) return;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept& kept = kept_[i];
    journal.Put(i, kept.place, kept.bucket, kept.bucket_bytes);
  }
  journal.Seal(kept_.size(), decision);
  // What it holds may be older than these.
  verify::ClearJournal(journal_);
}

// Another seal than the former bucket's, and than any that it was or will be.
void Rewrites::Retract() {
  for (const Kept& kept : kept_) {
    verify::PublishSeal(kept.words, ~verify::LoadWord(kept.words));
  }
}

void Rewrites::Publish(const verify::CommitJournal& journal) {
  for (const Kept& kept : kept_) {
    verify::StoreBucket(kept.words, kept.bucket, kept.bucket_bytes);
  }
  if (journal_ != nullptr) {
    verify::KeepStoreOrder();
    journal.Clear();
  }
  keeps_ = false;
  kept_.clear();
  index_.clear();
}

}  // namespace plov::cuckoo
