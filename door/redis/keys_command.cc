// KEYS: the names that match, told piece by piece as the client reads them.

#include <memory>
#include <string>
#include <utility>

#include "door/redis/answer.h"
#include "door/redis/command.h"
#include "door/redis/key_matches.h"
#include "door/redis/table_request.h"

namespace plov::door::redis {

// What a call of KEYS and its request share: the request fills it, the call tells it.
struct KeysAnswer {
  bool is_there = false;
  std::unique_ptr<KeyMatches> matches;  // nullptr: it has failed
};

namespace {

using Found = std::expected<std::unique_ptr<KeyMatches>, Error>;

// The beginning of the reply. What follows is added by the call.
class KeysRequest final : public TableRequest {
 public:
  KeysRequest(std::string_view glob, std::shared_ptr<KeysAnswer> answer, KeyWalks* walks)
      : glob_(glob), answer_(std::move(answer)), walks_(walks) {}

  size_t bytes() const override { return TableRequest::bytes() + glob_.capacity(); }

 private:
  void Begin() override;
  void Take(Found found);

  const std::string glob_;
  const std::shared_ptr<KeysAnswer> answer_;
  KeyWalks* const walks_;
};

void KeysRequest::Begin() {
  walks_->Ask({.wants_all = true,
               .abandoned = abandoned(),
               .done = [this, glob = glob_, budget = worker()->budget(), abandoned = abandoned(),
                        mailbox = worker()->mailbox()](const auto& index) {
                 Found found = std::unexpected(index ? Error{} : index.error());
                 if (index) {
                   found = KeyMatches::Find(*index, glob, budget, [&abandoned] {
                     return !abandoned->load(std::memory_order_relaxed);
                   });
                 }
                 mailbox->Post(
                     [this, found = std::move(found)]() mutable { Take(std::move(found)); });
               }});
}

void KeysRequest::Take(Found found) {
  answer_->is_there = true;
  if (!found) return EndWithFailure(found.error());
  answer_->matches = std::move(*found);
  AddArray(answer_->matches->left(), &reply);
  End();
}

// As much as the connection has room for.
void TellMore(Call& call) {
  constexpr size_t kBytesAtOnce = size_t{16} << 10;
  KeysAnswer& answer = *call.keys_answer;
  if (!answer.is_there) return;
  while (answer.matches != nullptr && answer.matches->left() > 0) {
    if (!call.connection()->has_room_to_answer()) return;
    std::string piece;
    answer.matches->AddTo(&piece, kBytesAtOnce);
    call.connection()->Add(new Answer(piece));
  }
  call.keys_answer.reset();
}

}  // namespace

void commands::Keys(Call& call) {
  if (call.keys_answer != nullptr) return TellMore(call);
  if (call[1].size() > kGlobBytesMax) return call.Refuse(kLongGlob);
  call.keys_answer = std::make_shared<KeysAnswer>();
  call.connection()->Add(new KeysRequest(call[1], call.keys_answer, call.options().walks));
}

}  // namespace plov::door::redis
