// Commands that store: SET, SETNX, SETEX, PSETEX, GETSET, MSET, and GETEX, which has SET's options.

#include <utility>

#include "door/redis/command.h"
#include "door/redis/expiry.h"
#include "door/redis/set_options.h"

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

bool IsPast(int64_t unix_ms) { return unix_ms <= UnixMs(); }

// What SET makes of an item, as far as the server does not do it in one operation. moment: 0 for ever.
Change PlanSet(const SetOptions& options, const std::string& value, int64_t moment, Resp resp,
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
  if (moment != 0 && IsPast(moment)) {
    if (item != nullptr) change.action = Change::Action::kDelete;
    return change;
  }
  change.action = Change::Action::kPut;
  change.value = value;
  if (options.keep_ttl && item != nullptr) change.ttl = TtlOf(item->expiry);
  if (moment != 0) change.ttl = TtlUntil(moment);
  return change;
}

void AddSet(const Call& call, SetOptions options, std::string_view value, int64_t moment) {
  const bool is_one_step = !options.get && !options.keep_ttl && (moment == 0 || !IsPast(moment));
  if (!is_one_step) {
    return call.Rewrite([options = std::move(options), value = std::string(value), moment,
                         resp = call.resp()](const Item* item) {
      return PlanSet(options, value, moment, resp, item);
    });
  }
  PutOptions put;
  if (options.nx) put.mode = PutMode::kAdd;
  if (options.xx) put.mode = PutMode::kReplace;
  if (moment != 0) put.ttl = TtlUntil(moment);
  call.Write(new StoreWrite(call[1], std::string(value), put,
                            {.stored = kOkReply, .refused = NullReply(call.resp())}));
}

void SetWithExpiry(const Call& call, ExpiryUnit unit) {
  const auto moment = MomentOf(call[2], unit);
  if (!moment) return RefuseMoment(call, moment.error());
  AddSet(call, {}, call[3], *moment);
}

Change PlanGetEx(const SetOptions& options, Resp resp, const Item* item) {
  Change change;
  if (item == nullptr) {
    AddNull(resp, &change.reply);
    return change;
  }
  AddBulk(item->value, &change.reply);
  if (options.persist) {
    if (item->expiry != 0) change.action = Change::Action::kTouch;
    return change;
  }
  const auto moment = MomentOf(options.expiry, *options.unit);
  if (!moment) {
    change.reply.clear();
    change.is_error = true;
    AddError(moment.error() == ExpiryError::kInvalid ? "ERR invalid expire time in 'getex' command"
                                                     : kNotAnInteger,
             &change.reply);
    return change;
  }
  change.action = IsPast(*moment) ? Change::Action::kDelete : Change::Action::kTouch;
  change.ttl = TtlUntil(*moment);
  return change;
}

}  // namespace

namespace commands {

void Set(Call& call) {
  std::vector<std::string_view> words;
  for (size_t i = 3; i < call.count(); ++i) words.push_back(call[i]);
  auto options = SetOptions::OfSet(words);
  if (!options) return call.Refuse(kSyntaxError);
  int64_t moment = 0;
  if (options->unit) {
    const auto given = MomentOf(options->expiry, *options->unit);
    if (!given) return RefuseMoment(call, given.error());
    moment = *given;
  }
  AddSet(call, std::move(*options), call[2], moment);
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
  AddSet(call, options, call[2], 0);
}

void MSet(Call& call) {
  if (call.count() % 2 == 0) return call.RefuseArity();
  call.AddSeveral({.kind = Group::Kind::kOk, .step = 2}, [&call](size_t i) {
    return new StoreWrite(call[i], std::string(call[i + 1]), {}, {});
  });
}

void GetEx(Call& call) {
  std::vector<std::string_view> words;
  for (size_t i = 2; i < call.count(); ++i) words.push_back(call[i]);
  auto options = SetOptions::OfGetEx(words);
  if (!options) return call.Refuse(kSyntaxError);
  if (words.empty()) return Get(call);
  call.Rewrite([options = std::move(*options), resp = call.resp()](const Item* item) {
    return PlanGetEx(options, resp, item);
  });
}

}  // namespace commands

}  // namespace plov::door::redis
