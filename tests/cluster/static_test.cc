// static:FILE, and what URIs are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "cluster/configuration.h"
#include "cluster/coordinator.h"
#include "tests/cluster/conformance.h"
#include "tests/cluster/values.h"
#include "tests/support/folder.h"

namespace plov::test {
namespace {

using cluster::Lifetime;
using cluster::Open;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StaticTest : public ::testing::Test {
 protected:
  StaticTest() {
    Replace("{\"config\":" + Encode(WholeConfig()) + ",\n\"shards/3\":" + Encode(WholeShard()) +
            ",\n\"shards/10\":" + Encode(WholeShard()) + "}");
  }

  // As editors do: another file takes its name.
  void Replace(const std::string& text) {
    std::ofstream(file_ + ".new") << text;
    std::filesystem::rename(file_ + ".new", file_);
  }

  auto OpenFile() { return Open("static:" + file_, {}); }

  TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/cluster.json";
};

TEST_F(StaticTest, ValuesAreThoseOfTheFile) {
  const auto opened = OpenFile();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*cluster::DecodeConfig((*opened)->Get("config")->data), WholeConfig());
  EXPECT_EQ(*cluster::DecodeShard((*opened)->Get("shards/3")->data), WholeShard());
  EXPECT_EQ((*opened)->Get("shards/4").error().code, Code::kNotFound);
  EXPECT_EQ((*opened)->Get("shards").error().code, Code::kNotFound);
  EXPECT_EQ((*opened)->Get("../x").error().code, Code::kInvalidArgument);
  EXPECT_THAT(*(*opened)->List("shards"), ElementsAre("10", "3"));
  EXPECT_THAT(*(*opened)->List(""), ElementsAre("config", "shards"));
  EXPECT_TRUE((*opened)->List("servers")->empty());
  EXPECT_EQ((*opened)->state().kind, cluster::State::Kind::kConnected);
}

TEST_F(StaticTest, WritesAreRefusedAndSayWhy) {
  const auto opened = OpenFile();
  for (const Error& error : {(*opened)->Set("config", "", 1).error(),
                             (*opened)->Create("a", "", Lifetime::kPersistent).error(),
                             (*opened)->Delete("config", 1).error()}) {
    EXPECT_EQ(error.code, Code::kPermission);
    EXPECT_THAT(error.message, HasSubstr("no fail-over"));
  }
}

TEST_F(StaticTest, ReplacedFileIsHintedAndRead) {
  const auto opened = OpenFile();
  (*opened)->Watch("config");
  const auto before = (*opened)->Get("config");
  cluster::Config other = WholeConfig();
  other.replicas = 3;
  Replace("{\"config\":" + Encode(other) + "}");
  ASSERT_TRUE(AwaitHint(opened->get(), "config"));
  const auto after = (*opened)->Get("config");
  EXPECT_EQ(*cluster::DecodeConfig(after->data), other);
  EXPECT_GT(after->revision, before->revision);
  EXPECT_EQ((*opened)->Get("shards/3").error().code, Code::kNotFound);
}

TEST_F(StaticTest, FileThatIsWrittenToIsHintedAndRead) {
  const auto opened = OpenFile();
  (*opened)->Watch("");
  for (int i = 0; i < 20; ++i) {  // also within a tick of the file's clock, and of one size
    std::ofstream(file_) << "{\"config\":" << 10 + i << "}";
    ASSERT_TRUE(AwaitHint(opened->get(), ""));
    EXPECT_EQ((*opened)->Get("config")->data, std::to_string(10 + i));
  }
}

TEST_F(StaticTest, FileThatMakesNoSenseIsAnErrorUntilItDoes) {
  const auto opened = OpenFile();
  Replace("{\"config\": 1,\n \"shards/0\": }");
  const auto broken = (*opened)->Get("config");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Code::kInvalidArgument);
  EXPECT_THAT(broken.error().message, HasSubstr("line 2"));
  std::filesystem::remove(file_);
  EXPECT_EQ((*opened)->Get("config").error().code, Code::kNotFound);
  Replace("{\"config\": 1}");
  EXPECT_EQ((*opened)->Get("config")->data, "1");
}

TEST_F(StaticTest, FileThatIsNoneIsRefused) {
  EXPECT_EQ(Open("static:" + folder_.path() + "/none", {}).error().code, Code::kNotFound);
  EXPECT_EQ(Open("static:" + folder_.path() + "/none/none", {}).error().code, Code::kNotFound);
  EXPECT_EQ(Open("static:" + folder_.path(), {}).error().code, Code::kSystem);
  const std::string deep(1'000'000, '[');
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"a b\":1}"), "{\"a\":" + deep,
        "{\"a\":" + deep + std::string(1'000'000, ']') + "}"}) {
    Replace(text);
    EXPECT_EQ(OpenFile().error().code, Code::kInvalidArgument);
  }
}

TEST(OpenCoordinatorTest, WhatNamesNoneIsRefused) {
  for (const char* uri : {"",
                          "zk",
                          "zk:",
                          "zk:h1/plov",
                          "static:",
                          "etcd://h1/plov",
                          "zk://",
                          "zk://h1",
                          "zk://h1/",
                          "zk:///plov",
                          "zk://h1,/plov",
                          "zk://h1:/plov",
                          "zk://h1:0/plov",
                          "zk://h1:65536/plov",
                          "zk://h1:2181x/plov",
                          "zk://[::1/plov",
                          "zk://[::1]x/plov",
                          "zk://::1/plov",
                          "zk://h1/plov/",
                          "zk://h1//plov",
                          "zk://h1/../plov"}) {
    EXPECT_EQ(Open(uri, {}).error().code, Code::kInvalidArgument) << uri;
  }
}

}  // namespace
}  // namespace plov::test
