// Writers that note what they are told, and who checks by it what a server has after the power went:
//
//   ledger write URI DEVICE OFFSET WRITES strict|acked|async
//   ledger check URI DEVICE OFFSET ALL strict|acked|async
//
// The ledger lies at OFFSET of DEVICE (see ledger.h); ALL is the device that has all of it, DEVICE
// what it was when the power went. `check` prints how many operations had been promised, how many are
// there, and how many reads of them had been shown. Exit status: 0, 1 something is lost or wrong,
// or cannot be asked; 2 usage.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "ledger.h"

int main(int argc, char** argv) {
  using plov::power::Promise;
  const std::map<std::string, Promise> promises = {
      {"strict", Promise::kRead}, {"acked", Promise::kTold}, {"async", Promise::kSynced}};
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 6 && promises.contains(words[5])) {
    const plov::power::Run run{words[1], words[2], std::stoull(words[3])};
    const Promise promise = promises.at(words[5]);
    if (words[0] == "check") return plov::power::Check(run, words[4], promise);
    const unsigned long writes = words[0] == "write" ? std::stoul(words[4]) : 0;
    if (writes > 0 && writes <= plov::power::kRecordsPerPart) {
      return plov::power::Write(run, static_cast<uint32_t>(writes), promise == Promise::kSynced);
    }
  }
  std::fprintf(stderr,
               "ledger: usage: ledger write URI DEVICE OFFSET WRITES MODE, or"
               " ledger check URI DEVICE OFFSET ALL MODE\n");
  return 2;
}
