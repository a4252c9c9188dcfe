#include "fabric/claim.h"

#include <gtest/gtest.h>

namespace plov::fabric {
namespace {

using Outcome = Claims::Outcome;

constexpr uint64_t kId = 7;

// A client that has connected and spoken as often as said.
Claimant Connected(Claims* claims, int times) {
  Claimant client;
  for (int i = 0; i < times; ++i) {
    const Claim claim = client.claim();
    EXPECT_EQ(claims->Take(kId, claim), i == 0 ? Outcome::kNew : Outcome::kOwner);
    client.OnConnected();
    claims->OnSpoken(kId, claim);
  }
  return client;
}

TEST(Claims, SecretsAreHiddenBySha256) {
  const Secret zeros{};
  const Secret hash = {0x37, 0x47, 0x08, 0xff, 0xf7, 0x71, 0x9d, 0xd5,
                       0x97, 0x9e, 0xc8, 0x75, 0xd5, 0x6c, 0xd2, 0x28};
  EXPECT_EQ(OneWay(zeros), hash);
}

TEST(Claims, IdIsItsOwnersHoweverOftenItConnects) {
  Claims claims;
  Connected(&claims, 5);
}

TEST(Claims, WhoHasHeardAllThatWasSaidIsNotTheOwner) {
  Claims claims;
  Claimant client;
  for (int i = 0; i < 3; ++i) {
    const Claim heard = client.claim();
    EXPECT_NE(claims.Take(kId, heard), Outcome::kOther);
    client.OnConnected();
    claims.OnSpoken(kId, heard);
    const Claim guesses[] = {
        {}, heard, {heard.proof, {}}, {heard.next, heard.next}, {{}, heard.next}};
    for (const Claim& guess : guesses) EXPECT_EQ(claims.Take(kId, guess), Outcome::kOther);
  }
  EXPECT_EQ(claims.Take(kId, client.claim()), Outcome::kOwner) << "undisturbed";
}

TEST(Claims, ClaimWhoseConnectionDidNotComeAboutIsSaidAgain) {
  Claims claims;
  Claimant client = Connected(&claims, 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(claims.Take(kId, client.claim()), Outcome::kOwner);
  const Claim changed{client.claim().proof, {}};
  EXPECT_EQ(claims.Take(kId, changed), Outcome::kOther) << "the same but for what comes next";
  client.OnConnected();
  EXPECT_EQ(claims.Take(kId, client.claim()), Outcome::kOwner);
}

// Its words were on their way when the client, which had no patience, connected once more and gave that up, too.
TEST(Claims, WhatAFormerConnectionSaysIsNotTheNextOnes) {
  Claims claims;
  Claimant client = Connected(&claims, 1);
  const Claim former = client.claim();
  EXPECT_EQ(claims.Take(kId, former), Outcome::kOwner);
  client.OnConnected();
  EXPECT_EQ(claims.Take(kId, client.claim()), Outcome::kOwner);
  claims.OnSpoken(kId, former);
  EXPECT_EQ(claims.Take(kId, client.claim()), Outcome::kOwner);
}

TEST(Claims, IdThatIsForgottenIsAnybodys) {
  Claims claims;
  Connected(&claims, 2);
  claims.Forget(kId);
  EXPECT_EQ(claims.Take(kId, Claimant().claim()), Outcome::kNew);
  claims.ForgetAll();
  EXPECT_EQ(claims.Take(kId, Claimant().claim()), Outcome::kNew);
}

}  // namespace
}  // namespace plov::fabric
