// The options of plovd: every flag, where it may come from and what is refused.
#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace plov::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OptionsTest : public ::testing::Test {
 protected:
  ~OptionsTest() override {
    for (const std::string& name : variables_) ::unsetenv(name.c_str());
    std::filesystem::remove(ConfigPath());
  }

  static std::expected<Options, Error> Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "plovd");
    return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  }
  static Options MustParse(const std::vector<const char*>& arguments) {
    const auto options = Parse(arguments);
    EXPECT_TRUE(options.has_value()) << options.error().message;
    return options.value_or(Options{});
  }
  // The one line that a refusal says.
  static std::string Refusal(const std::vector<const char*>& arguments) {
    const auto options = Parse(arguments);
    EXPECT_FALSE(options.has_value());
    if (options) return {};
    EXPECT_EQ(options.error().code, Code::kInvalidArgument);
    EXPECT_EQ(options.error().message.find('\n'), std::string::npos);
    return options.error().message;
  }

  void SetVariable(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    variables_.push_back(name);
  }
  static std::string ConfigPath() {
    return ::testing::TempDir() + "plovd_options_test." + std::to_string(::getpid());
  }
  const char* WriteConfig(const std::string& text) {
    std::ofstream(ConfigPath()) << text;
    config_ = "--config=" + ConfigPath();
    return config_.c_str();
  }

 private:
  std::vector<std::string> variables_;
  std::string config_;
};

TEST_F(OptionsTest, DefaultsAreTheManuals) {
  const Options options = MustParse({});
  EXPECT_EQ(options.action, Options::Action::kServe);
  EXPECT_THAT(options.server.uris, ElementsAre("shm:default"));
  EXPECT_EQ(options.server.memory_bytes, size_t{1} << 30);
  EXPECT_EQ(options.server.shards.count, 1u);
  EXPECT_EQ(options.server.threads, 0u);
  EXPECT_EQ(options.server.bucket_bytes, 0) << "auto";
  EXPECT_EQ(options.server.value_bytes_max, 16u << 20);
  EXPECT_EQ(options.server.spin_us, 50u);
  EXPECT_EQ(options.server.clients_max, 10'000u);
  EXPECT_EQ(options.server.clients_per_user_max, 0u);
  EXPECT_EQ(options.server.huge_pages, HugePages::kAuto);
  EXPECT_EQ(options.log_level, "info");
}

TEST_F(OptionsTest, EveryFlagIsTaken) {
  const Options options = MustParse({"--listen",
                                     "shm:a",
                                     "--listen=shm:/b.sock",
                                     "--shards",
                                     "3",
                                     "--memory=200M",
                                     "--bucket-bytes",
                                     "128",
                                     "--max-value",
                                     "1M",
                                     "--spin-us",
                                     "0",
                                     "--max-clients",
                                     "7",
                                     "--max-clients-per-user=3",
                                     "--hugepages",
                                     "--log-level",
                                     "debug",
                                     "--threads",
                                     "2"});
  EXPECT_THAT(options.server.uris, ElementsAre("shm:a", "shm:/b.sock"));
  EXPECT_EQ(options.server.shards.count, 3u);
  EXPECT_EQ(options.server.threads, 2u);
  EXPECT_EQ(options.server.memory_bytes, size_t{200} << 20);
  EXPECT_EQ(options.server.bucket_bytes, 128u);
  EXPECT_EQ(options.server.value_bytes_max, 1u << 20);
  EXPECT_EQ(options.server.spin_us, 0u);
  EXPECT_EQ(options.server.clients_max, 7u);
  EXPECT_EQ(options.server.clients_per_user_max, 3u);
  EXPECT_EQ(options.server.huge_pages, HugePages::kYes);
  EXPECT_EQ(options.log_level, "debug");
}

TEST_F(OptionsTest, HelpAndVersionWinOverTheRest) {
  EXPECT_EQ(MustParse({"--help"}).action, Options::Action::kHelp);
  EXPECT_EQ(MustParse({"-h"}).action, Options::Action::kHelp);
  EXPECT_EQ(MustParse({"--version"}).action, Options::Action::kVersion);
  EXPECT_EQ(MustParse({"--memory", "nonsense", "--help"}).action, Options::Action::kHelp);
}

TEST_F(OptionsTest, HelpNamesEveryOption) {
  for (const char* name : {"--listen", "--shards", "--memory", "--bucket-bytes", "--max-value",
                           "--spin-us", "--max-clients", "--max-clients-per-user", "--hugepages",
                           "--evict", "--config", "--log-level", "--log-output", "--version",
                           "--help", "--threads", "--writers", "--readers"}) {
    EXPECT_THAT(HelpText(), HasSubstr(name));
  }
}

TEST_F(OptionsTest, SizesTakeSuffixes) {
  EXPECT_EQ(MustParse({"--memory=16777216"}).server.memory_bytes, size_t{16} << 20);
  EXPECT_EQ(MustParse({"--memory=65536K"}).server.memory_bytes, size_t{64} << 20);
  EXPECT_EQ(MustParse({"--memory=64M"}).server.memory_bytes, size_t{64} << 20);
  EXPECT_EQ(MustParse({"--memory=1G"}).server.memory_bytes, size_t{1} << 30);
  EXPECT_EQ(MustParse({"--max-value=4K"}).server.value_bytes_max, 4096u);
}

TEST_F(OptionsTest, DefaultMemoryGrowsWithManyShards) {
  EXPECT_EQ(MustParse({"--shards=100"}).server.memory_bytes, size_t{1600} << 20);
}

TEST_F(OptionsTest, NumbersThatAreNoneAreRefused) {
  for (const char* text : {"", "x", "-1", "1.5", "64MB", "64 M", "M", "0x10", "1e9",
                           "99999999999999999999999", "18446744073709551615", "+5"}) {
    for (const char* name : {"--memory=", "--shards=", "--max-value=", "--spin-us=",
                             "--bucket-bytes=", "--max-clients=", "--max-clients-per-user="}) {
      const std::string argument = std::string(name).append(text);
      EXPECT_FALSE(Parse({argument.c_str()}).has_value()) << argument;
    }
  }
  EXPECT_THAT(Refusal({"--memory=64X"}), HasSubstr("--memory"));
  EXPECT_THAT(Refusal({"--memory=64X"}), HasSubstr("64X"));
}

// The file is looked at by who serves.
TEST_F(OptionsTest, AClusterIsNamedWithAnIdThere) {
  const Options options = MustParse({"--cluster=static:/nonexistent", "--id=a1"});
  EXPECT_EQ(options.cluster, "static:/nonexistent");
  EXPECT_EQ(options.id, "a1");
  EXPECT_FALSE(options.server.cluster);
  EXPECT_THAT(Refusal({"--cluster=static:f"}), HasSubstr("--cluster needs --id"));
  EXPECT_THAT(Refusal({"--id=a1"}), HasSubstr("--id is for a server with --cluster"));
  EXPECT_THAT(Refusal({"--cluster=zk://h/x", "--id=a1"}), HasSubstr("needs --listen"));
  EXPECT_THAT(Refusal({"--cluster=static:f", "--id=a1", "--shards=2"}), HasSubstr("--shards: "));
}

TEST_F(OptionsTest, AClusterWithReplicasIsNamedByItsCoordinator) {
  const Options options = MustParse({"--cluster=zk://h/x", "--id=a1", "--listen=shm:a1",
                                     "--zone=r1", "--cluster-auth=/nonexistent", "--max-shards=7"});
  EXPECT_TRUE(options.has_replicas());
  EXPECT_EQ(options.zone, "r1");
  EXPECT_EQ(options.shards_max, 7u);
  EXPECT_EQ(options.cluster_auth, "/nonexistent");
  EXPECT_THAT(Refusal({"--cluster=zk://h/x", "--id=a1", "--listen=shm:a1", "--warm=f"}),
              HasSubstr("and replicas do not go together yet"));
  EXPECT_EQ(
      MustParse({"--cluster=zk://h/x", "--id=a1", "--listen=shm:a1", "--log=f"}).server.log.folder,
      "f");
  EXPECT_THAT(
      Refusal({"--cluster=zk://h/x", "--id=a1", "--listen=shm:a1", "--log=f", "--commit=acked"}),
      HasSubstr("--commit: with replicas it is strict"));
  EXPECT_THAT(Refusal({"--cluster=static:f", "--id=a1", "--zone=r1"}), HasSubstr("--zone is for"));
  EXPECT_THAT(Refusal({"--cluster=static:f", "--id=a1", "--max-shards=2"}),
              HasSubstr("--max-shards is for"));
  EXPECT_THAT(Refusal({"--cluster=zk://h/r", "--id=a1", "--listen=shm:a", "--max-shards=0"}),
              HasSubstr("--max-shards 0 is outside 1 to 16384"));
  EXPECT_THAT(Refusal({"--zone=r1"}), HasSubstr("--zone is for a server with --cluster"));
}

TEST_F(OptionsTest, ImpossibleSizesAreRefusedWithTheirRange) {
  EXPECT_THAT(Refusal({"--memory=1M"}), HasSubstr("--memory 1M is outside 16777216"));
  EXPECT_THAT(Refusal({"--memory=1000000G"}), HasSubstr("--memory"));
  EXPECT_THAT(Refusal({"--memory=31M", "--shards=2"}), HasSubstr("--memory"));
  EXPECT_THAT(Refusal({"--shards=0"}), HasSubstr("--shards"));
  EXPECT_THAT(Refusal({"--shards=257"}), HasSubstr("--shards"));
  EXPECT_THAT(Refusal({"--threads=257"}), HasSubstr("--threads 257 is outside 0 to 256"));
  EXPECT_THAT(Refusal({"--max-value=0"}), HasSubstr("--max-value"));
  EXPECT_THAT(Refusal({"--max-value=17M"}), HasSubstr("--max-value"));
  EXPECT_THAT(Refusal({"--spin-us=1000001"}), HasSubstr("--spin-us"));
  EXPECT_THAT(Refusal({"--max-clients=0"}), HasSubstr("--max-clients 0 is outside 1 to"));
  EXPECT_THAT(Refusal({"--max-clients-per-user=1000001"}), HasSubstr("--max-clients-per-user"));
  for (const char* bytes : {"--bucket-bytes=63", "--bucket-bytes=96", "--bucket-bytes=256"}) {
    EXPECT_THAT(Refusal({bytes}), HasSubstr("--bucket-bytes"));
  }
}

TEST_F(OptionsTest, ListsOfUsersAndGroups) {
  EXPECT_FALSE(MustParse({}).server.access.writers || MustParse({}).server.access.readers);
  const Options options = MustParse({"--writers=root,1234,@root", "--readers", "@77"});
  ASSERT_TRUE(options.server.access.writers && options.server.access.readers);
  EXPECT_THAT(options.server.access.writers->users, ElementsAre(0, 1234));
  EXPECT_THAT(options.server.access.writers->groups, ElementsAre(0));
  EXPECT_TRUE(options.server.access.readers->users.empty());
  EXPECT_THAT(options.server.access.readers->groups, ElementsAre(77));
  EXPECT_THAT(Refusal({"--writers=root,no-such-user"}),
              HasSubstr("--writers: there is no user 'no-such-user'"));
  EXPECT_THAT(Refusal({"--readers=@"}), HasSubstr("--readers: there is no group ''"));
  EXPECT_THAT(Refusal({"--readers="}), HasSubstr("--readers"));
}

TEST_F(OptionsTest, WhatIsWrongIsNamedWhereItWasWritten) {
  const std::string file = ConfigPath();
  const auto refusal = [&](const std::string& text) { return Refusal({WriteConfig(text)}); };
  EXPECT_THAT(refusal("# sizes\n\nmemory = abc\n"), StartsWith(file + ":3: memory: 'abc'"));
  EXPECT_THAT(refusal("memory = 64M\ncolour = red\n"), StartsWith(file + ":2: "));
  EXPECT_THAT(refusal("memory = 64M\nspin-us = 0\nmemory = 32M\n"),
              StartsWith(file + ":3: memory is there twice"));
  EXPECT_THAT(refusal("hugepages = perhaps\n"), StartsWith(file + ":1: "));
  EXPECT_THAT(refusal("hugepages =\n"), StartsWith(file + ":1: hugepages is auto, yes or no"));
  EXPECT_THAT(refusal("memory\n"), StartsWith(file + ":1: "));
  SetVariable("PLOVD_SPIN_US", "fast");
  EXPECT_THAT(Refusal({}), StartsWith("PLOVD_SPIN_US: 'fast'"));
  EXPECT_EQ(MustParse({"--spin-us=3"}).server.spin_us, 3u) << "not asked for";
  SetVariable("PLOVD_HUGEPAGES", "");
  EXPECT_THAT(Refusal({"--spin-us=3"}), StartsWith("PLOVD_HUGEPAGES is auto, yes or no"));
  SetVariable("PLOVD_HUGEPAGES", "perhaps");
  EXPECT_THAT(Refusal({"--spin-us=3"}), StartsWith("PLOVD_HUGEPAGES is auto, yes or no"));
  SetVariable("PLOVD_HUGEPAGES", "no");
  EXPECT_EQ(MustParse({"--spin-us=3"}).server.huge_pages, HugePages::kNo);
  EXPECT_EQ(MustParse({"--spin-us=3", "--hugepages", "auto"}).server.huge_pages, HugePages::kAuto);
}

TEST_F(OptionsTest, ACacheKeepsNothingForGood) {
  EXPECT_FALSE(MustParse({}).server.evicts);
  EXPECT_TRUE(MustParse({"--evict"}).server.evicts);
  EXPECT_TRUE(MustParse({"--evict=yes", "--warm", "/f"}).server.evicts);
  EXPECT_FALSE(MustParse({"--evict", "no", "--log", "/d"}).server.evicts);
  EXPECT_THAT(Refusal({"--evict", "perhaps"}), StartsWith("--evict is yes or no"));
  EXPECT_THAT(Refusal({"--evict", "--log", "/d"}),
              StartsWith("--evict and --log do not go together"));
  EXPECT_THAT(Refusal({"--evict", "--cluster", "zk://h/r", "--id", "a", "--listen", "shm:a"}),
              StartsWith("--evict and --cluster do not go together"));
}

TEST_F(OptionsTest, FolderIsNoConfigFile) {
  const std::string folder = ::testing::TempDir();
  EXPECT_THAT(Refusal({"--config", folder.c_str()}), HasSubstr("cannot read --config " + folder));
  SetVariable("PLOVD_CONFIG", folder);
  EXPECT_THAT(Refusal({}), HasSubstr("cannot read PLOVD_CONFIG " + folder));
}

TEST_F(OptionsTest, UnknownOptionsAndWordsAreRefused) {
  EXPECT_THAT(Refusal({"--colour"}), HasSubstr("colour"));
  EXPECT_THAT(Refusal({"--mem=64M"}), HasSubstr("mem")) << "no guessing";
  EXPECT_THAT(Refusal({"serve"}), HasSubstr("--help"));
  EXPECT_THAT(Refusal({"--memory"}), HasSubstr("memory")) << "its value is missing";
  EXPECT_THAT(Refusal({"--memory=64M", "--memory=32M"}), HasSubstr("memory")) << "twice";
}

TEST_F(OptionsTest, LogLevelIsOneOfTheNamed) {
  for (const char* level : {"trace", "debug", "info", "warn", "error", "off"}) {
    EXPECT_EQ(MustParse({"--log-level", level}).log_level, level);
  }
  EXPECT_THAT(Refusal({"--log-level=loud"}), HasSubstr("'loud'"));
  EXPECT_THAT(Refusal({"--log-level="}), HasSubstr("log-level"));
}

TEST_F(OptionsTest, LogOutputIsStandardErrorUnlessGiven) {
  EXPECT_EQ(MustParse({}).log_output, "stderr");
  EXPECT_EQ(MustParse({"--log-output", "/var/log/plovd"}).log_output, "/var/log/plovd");
  EXPECT_THAT(Refusal({"--log-output", ""}), HasSubstr("log-output"));
}

TEST_F(OptionsTest, OneOptionIsParsedAsOnTheCommandLine) {
  Options now = MustParse({"--spin-us", "7", "--log", "/log"});
  EXPECT_EQ(now.given.at("spin-us"), "7");
  EXPECT_FALSE(now.given.contains("memory"));
  EXPECT_EQ(ParseOption(now, "spin-us", "1K")->server.spin_us, 1024u);
  EXPECT_EQ(ParseOption(now, "snapshot-rate", "10M")->server.log.snapshots.rate_bytes, 10u << 20);
  for (const auto& [option, value] : {std::pair("spin-us", "x"), std::pair("spin-us", ""),
                                      std::pair("spin-us", "-1"), std::pair("nonsense", "1")}) {
    EXPECT_EQ(ParseOption(now, option, value).error().code, Code::kInvalidArgument) << option;
  }
}

TEST_F(OptionsTest, ConfigFileSetsOptions) {
  const Options options =
      MustParse({WriteConfig("# a comment\n"
                             "memory = 64M\n"
                             "\n"
                             "listen = shm:a\n"
                             "listen = shm:b\n"
                             "hugepages = yes\n"
                             "log-level = warn\n")});
  EXPECT_EQ(options.server.memory_bytes, size_t{64} << 20);
  EXPECT_THAT(options.server.uris, ElementsAre("shm:a", "shm:b"));
  EXPECT_EQ(options.server.huge_pages, HugePages::kYes);
  EXPECT_EQ(options.log_level, "warn");
}

TEST_F(OptionsTest, EnvironmentSetsOptions) {
  SetVariable("PLOVD_MEMORY", "64M");
  SetVariable("PLOVD_MAX_VALUE", "1K");
  SetVariable("PLOVD_LISTEN", "shm:env");
  SetVariable("PLOVD_MAX_CLIENTS", "5");
  SetVariable("PLOVD_MAX_CLIENTS_PER_USER", "2");
  const Options options = MustParse({});
  EXPECT_EQ(options.server.clients_max, 5u);
  EXPECT_EQ(options.server.clients_per_user_max, 2u);
  EXPECT_EQ(options.server.memory_bytes, size_t{64} << 20);
  EXPECT_EQ(options.server.value_bytes_max, 1024u);
  EXPECT_THAT(options.server.uris, ElementsAre("shm:env"));
}

TEST_F(OptionsTest, CommandLineWinsOverFileOverEnvironment) {
  SetVariable("PLOVD_MEMORY", "64M");
  SetVariable("PLOVD_SHARDS", "2");
  SetVariable("PLOVD_SPIN_US", "7");
  const char* config = WriteConfig("memory = 128M\nshards = 3\n");
  const Options options = MustParse({config, "--memory=256M"});
  EXPECT_EQ(options.server.memory_bytes, size_t{256} << 20);
  EXPECT_EQ(options.server.shards.count, 3u);
  EXPECT_EQ(options.server.spin_us, 7u);
}

TEST_F(OptionsTest, ListenIsReplacedNotMixedBetweenSources) {
  SetVariable("PLOVD_LISTEN", "shm:env");
  EXPECT_THAT(MustParse({"--listen=shm:a"}).server.uris, ElementsAre("shm:a"));
  const char* config = WriteConfig("listen = shm:file\n");
  EXPECT_THAT(MustParse({config}).server.uris, ElementsAre("shm:file"));
  EXPECT_THAT(MustParse({config, "--listen=shm:a"}).server.uris, ElementsAre("shm:a"));
}

TEST_F(OptionsTest, EnvironmentMayNameTheConfigFile) {
  WriteConfig("memory = 64M\n");
  SetVariable("PLOVD_CONFIG", ConfigPath());
  EXPECT_EQ(MustParse({}).server.memory_bytes, size_t{64} << 20);
  SetVariable("PLOVD_MEMORY", "128M");
  EXPECT_EQ(MustParse({}).server.memory_bytes, size_t{64} << 20) << "the file still wins";
  EXPECT_EQ(MustParse({"--memory=32M"}).server.memory_bytes, size_t{32} << 20);
}

TEST_F(OptionsTest, ConfigFileOfTheCommandLineWinsOverTheEnvironments) {
  SetVariable("PLOVD_CONFIG", "/nonexistent/plovd.conf");
  EXPECT_EQ(MustParse({WriteConfig("memory = 64M\n")}).server.memory_bytes, size_t{64} << 20);
}

TEST_F(OptionsTest, ConfigFileHasWhatIsForIt) {
  for (const char* line : {"help = yes", "version = 1", "config = other"}) {
    EXPECT_THAT(Refusal({WriteConfig(line)}), HasSubstr("is for the command line alone")) << line;
  }
  EXPECT_THAT(Refusal({WriteConfig("memory = 64M\n[main]\nshards = 2\n")}),
              HasSubstr(":2: there are no sections"));
}

// At a SIGHUP it is read beside clients who wait to be let in.
TEST_F(OptionsTest, ConfigFileThatMayTakeLongIsRefused) {
  EXPECT_THAT(Refusal({WriteConfig(std::string((1 << 20) + 1, '#'))}),
              HasSubstr("it has more than 1 MiB"));
  const std::string pipe = ConfigPath() + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Refusal({"--config", pipe.c_str()}), HasSubstr("it is not a regular file"));
  ::unlink(pipe.c_str());
}

TEST_F(OptionsTest, WhatIsShownOfAnOptionIsALine) {
  const Options options = MustParse({"--log-output=/tmp/x\nputs 99"});
  EXPECT_THAT(options.server.given, HasSubstr("option.log-output /tmp/x?puts 99\n"));
}

TEST_F(OptionsTest, ConfigFileThatCannotBeReadIsAnError) {
  EXPECT_THAT(Refusal({"--config=/nonexistent/plovd.conf"}), HasSubstr("/nonexistent/plovd.conf"));
  SetVariable("PLOVD_CONFIG", "/nonexistent/other.conf");
  EXPECT_THAT(Refusal({}), HasSubstr("/nonexistent/other.conf"));
}

TEST_F(OptionsTest, ConfigFileIsJudgedAsTheCommandLineIs) {
  EXPECT_THAT(Refusal({WriteConfig("colour = red\n")}), HasSubstr("colour"));
  EXPECT_FALSE(Parse({WriteConfig("memory 64M\n")}).has_value());
  EXPECT_THAT(Refusal({WriteConfig("memory = 64X\n")}), HasSubstr("64X"));
  EXPECT_THAT(Refusal({WriteConfig("bucket-bytes = 65\n")}), HasSubstr("bucket-bytes"));
  EXPECT_FALSE(Parse({WriteConfig("hugepages = perhaps\n")}).has_value());
}

// Boost replaces such names in its own messages, and would not end.
TEST_F(OptionsTest, NamesBetweenPercentSignsAreRefusedLikeOthers) {
  for (const char* argument :
       {"--%canonical_option%", "-%original_token%", "--%prefix%=1", "%option%"}) {
    EXPECT_THAT(Refusal({argument}), HasSubstr("percent signs")) << argument;
  }
  for (const char* line : {"%canonical_option%", "%canonical_option%=1"}) {
    EXPECT_THAT(Refusal({WriteConfig(line)}), HasSubstr("percent signs")) << line;
  }
  EXPECT_THAT(Refusal({"--100%", "--%%"}), HasSubstr("--100%")) << "others are named";
}

TEST_F(OptionsTest, VariablesOfUnknownNamesAreIgnored) {
  SetVariable("PLOVD_COLOUR", "red");
  SetVariable("PLOVD_", "x");
  SetVariable("PLOVD_HELP", "1");
  SetVariable("PLOVD_VERSION", "1");
  SetVariable("PLOV_MEMORY", "nonsense");
  const Options options = MustParse({});
  EXPECT_EQ(options.action, Options::Action::kServe);
  EXPECT_EQ(options.server.memory_bytes, size_t{1} << 30);
}

TEST_F(OptionsTest, VariablesOfKnownNamesAreJudged) {
  SetVariable("PLOVD_MEMORY", "64X");
  EXPECT_THAT(Refusal({}), HasSubstr("64X"));
}

}  // namespace
}  // namespace plov::server
