#include "torture/outcome.h"

namespace plov::torture {

Outcome OutcomeOf(Code error) {
  switch (error) {
    case Code::kNotFound:
      return Outcome::kAbsent;
    case Code::kExists:
      return Outcome::kExists;
    case Code::kVersionMismatch:
      return Outcome::kMismatch;
    case Code::kNoSpace:
    case Code::kTooLarge:
    case Code::kInvalidArgument:
    case Code::kUnavailable:
      return Outcome::kRefused;
    default:
      return Outcome::kUnknown;  // the others do not say that nothing was applied
  }
}

void Note(const Client::PutResult& result, Operation* operation) {
  operation->outcome = result ? Outcome::kOk : OutcomeOf(result.error().code);
  operation->version = result ? *result : 0;
}

void Note(const Client::DeleteResult& result, Operation* operation) {
  if (!result) {
    operation->outcome = OutcomeOf(result.error().code);
  } else {
    operation->outcome = *result ? Outcome::kOk : Outcome::kAbsent;
  }
}

}  // namespace plov::torture
