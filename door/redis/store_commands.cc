// Commands that store: SET, SETNX, SETEX, PSETEX, GETSET, MSET, MSETNX, and GETEX, which has SET's options.

#include <utility>

#include "door/redis/command.h"
#include "door/redis/expiry.h"
#include "door/redis/set_options.h"
#include "door/redis/store_several.h"
#include "door/redis/transaction.h"

namespace plov::door::redis {

namespace {

void RefuseMoment(const Call& call, ExpiryError error) {
  if (error == ExpiryError::kNoInteger) return call.Refuse(kNotAnInteger);
  call.RefuseExpiry();
}

std::string NullText(Resp resp) {
  std::string text;
  AddNull(resp, &text);
  return text;
}

std::string_view NullReply(Resp resp) {
  static const std::string kNull2 = NullText(Resp::k2);
  static const std::string kNull3 = NullText(Resp::k3);
  return resp == Resp::k2 ? kNull2 : kNull3;
}

// How long an item is to live: for ever, or until it ends, which may be over already.
struct Ending {
  Lifetime ttl;
  bool is_over = false;
};

std::expected<Ending, ExpiryError> EndingOf(const Call& call, std::string_view text,
                                            ExpiryUnit unit) {
  const int64_t now_ms = call.NowMs();
  const auto moment = MomentOf(text, unit, now_ms);
  if (!moment) return std::unexpected(moment.error());
  return Ending{Until(*moment), *moment <= now_ms};
}

// What SET makes of an item, as far as the server does not do it in one operation.
Change PlanSet(const SetOptions& options, const std::string& value, const Ending& ending, Resp resp,
               const Item* item) {
  Change change;
  const bool stores = item == nullptr ? !options.xx : !options.nx;
  if (options.get && item != nullptr) {
    AddBulk(item->value, &change.reply);
  } else if (options.get || !stores) {
    change.reply = NullReply(resp);
  } else {
    change.reply = kOkReply;
  }
  if (!stores) return change;
  if (ending.is_over) {
    if (item != nullptr) change.action = Change::Action::kDelete;
    return change;
  }
  change.action = Change::Action::kPut;
  change.value = value;
  change.ttl = ending.ttl;
  if (options.keep_ttl && item != nullptr) change.ttl = Lifetime::Until(item->expiry);
  return change;
}

void AddSet(const Call& call, SetOptions options, std::string_view value, const Ending& ending) {
  const bool is_one_step = !options.get && !options.keep_ttl && !ending.is_over;
  if (!is_one_step) {
    return call.Rewrite([options = std::move(options), value = std::string(value), ending,
                         resp = call.resp()](const Item* item) {
      return PlanSet(options, value, ending, resp, item);
    });
  }
  PutOptions put{.ttl = ending.ttl};
  if (options.nx) put.mode = PutMode::kAdd;
  if (options.xx) put.mode = PutMode::kReplace;
  call.Write(new StoreWrite(call[1], std::string(value), put,
                            {.stored = kOkReply, .refused = NullReply(call.resp())}));
}

void SetWithExpiry(const Call& call, ExpiryUnit unit) {
  const auto ending = EndingOf(call, call[2], unit);
  if (!ending) return RefuseMoment(call, ending.error());
  AddSet(call, {}, call[3], *ending);
}

KeyValues KeyValuesOf(const Call& call) {
  KeyValues items;
  items.reserve(call.count() / 2);
  for (size_t i = 1; i < call.count(); i += 2) {
    items.push_back({std::string(call[i]), std::string(call[i + 1])});
  }
  return items;
}

Change PlanGetEx(bool persists, const std::expected<Ending, ExpiryError>& ending, Resp resp,
                 const Item* item) {
  Change change;
  if (item == nullptr) {
    AddNull(resp, &change.reply);
    return change;
  }
  AddBulk(item->value, &change.reply);
  if (persists) {
    if (item->expiry != 0) change.action = Change::Action::kTouch;
    return change;
  }
  if (!ending) {
    change.reply.clear();
    change.is_error = true;
    AddError(ending.error() == ExpiryError::kInvalid ? "ERR invalid expire time in 'getex' command"
                                                     : kNotAnInteger,
             &change.reply);
    return change;
  }
  change.action = ending->is_over ? Change::Action::kDelete : Change::Action::kTouch;
  change.ttl = ending->ttl;
  return change;
}

}  // namespace

namespace commands {

void Set(Call& call) {
  std::vector<std::string_view> words;
  for (size_t i = 3; i < call.count(); ++i) words.push_back(call[i]);
  auto options = SetOptions::OfSet(words);
  if (!options) return call.Refuse(kSyntaxError);
  std::expected<Ending, ExpiryError> ending;
  if (options->unit) ending = EndingOf(call, options->expiry, *options->unit);
  if (!ending) return RefuseMoment(call, ending.error());
  AddSet(call, std::move(*options), call[2], *ending);
}

void SetNx(Call& call) {
  call.Write(new StoreWrite(call[1], std::string(call[2]), {.mode = PutMode::kAdd},
                            {.stored = ":1\r\n", .refused = ":0\r\n"}));
}

void SetEx(Call& call) { SetWithExpiry(call, ExpiryUnit::kSeconds); }
void PSetEx(Call& call) { SetWithExpiry(call, ExpiryUnit::kMs); }

void GetSet(Call& call) {
  SetOptions options;
  options.get = true;
  AddSet(call, options, call[2], {});
}

// As one where that may be; else one by one.
void MSet(Call& call) {
  if (call.count() % 2 == 0) return call.RefuseArity();
  if (!call.is_in_transaction() && call.count() / 2 <= kCommitItemsMax) {
    if (call.TakesKeys(2)) call.connection()->Add(new StoreSeveral(KeyValuesOf(call)));
    return;
  }
  call.AddSeveral({.kind = Group::Kind::kOk, .step = 2}, [&call](size_t i) {
    return new StoreWrite(call[i], std::string(call[i + 1]), {}, {});
  });
}

void MSetNx(Call& call) {
  if (call.count() % 2 == 0) return call.RefuseArity();
  if (!call.TakesKeys(2)) return;
  auto* step = new StoreNew(KeyValuesOf(call));
  if (call.is_in_transaction()) return call.Add(step);
  Transaction::Content content;
  content.bytes = step->bytes();
  content.steps.emplace_back(step);
  call.connection()->Add(new Transaction(std::move(content), call.resp(), &call.options()));
}

void GetEx(Call& call) {
  std::vector<std::string_view> words;
  for (size_t i = 2; i < call.count(); ++i) words.push_back(call[i]);
  const auto options = SetOptions::OfGetEx(words);
  if (!options) return call.Refuse(kSyntaxError);
  if (words.empty()) return Get(call);
  std::expected<Ending, ExpiryError> ending;
  if (options->unit) ending = EndingOf(call, options->expiry, *options->unit);
  call.Rewrite([persists = options->persist, ending, resp = call.resp()](const Item* item) {
    return PlanGetEx(persists, ending, resp, item);
  });
}

}  // namespace commands

}  // namespace plov::door::redis
