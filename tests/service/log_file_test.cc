// Messages in a file.

#include "service/log_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <spdlog/logger.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "fabric/os.h"
#include "tests/support/folder.h"

namespace plov::service {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Until the file has it; a test that waits in vain is ended by its time.
void Await(const std::string& path, const std::string& part) {
  while (TextOf(path).find(part) == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

class LogFileTest : public ::testing::Test {
 protected:
  // A logger that writes there.
  void Open() {
    file_ = LogFile::Open(path_).value();
    logger_ = std::make_unique<spdlog::logger>("test", file_);
  }
  void Close() {
    logger_.reset();
    file_.reset();
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/messages";
  std::shared_ptr<LogFile> file_;
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(LogFileTest, LinesAreAppendedInOrder) {
  std::ofstream(path_) << "former\n";
  Open();
  for (int i = 0; i < 1000; ++i) logger_->info("line {}", i);
  Close();
  std::istringstream text(TextOf(path_));
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "former");
  for (int i = 0; i < 1000; ++i) {
    std::getline(text, line);
    EXPECT_THAT(line, EndsWith("[test] [info] line " + std::to_string(i)));
  }
}

TEST_F(LogFileTest, ARenamedFileIsLeftForANewOne) {
  Open();
  logger_->info("first");
  Await(path_, "first");
  std::filesystem::rename(path_, path_ + ".1");
  logger_->info("second");
  Await(path_, "second");
  std::filesystem::remove(path_);
  logger_->info("third");
  Await(path_, "third");
  EXPECT_EQ(TextOf(path_ + ".1").find("second"), std::string::npos);
}

TEST_F(LogFileTest, ReopenMakesTheFileAtOnce) {
  Open();
  std::filesystem::rename(path_, path_ + ".1");
  file_->Reopen();
  while (!std::filesystem::exists(path_)) std::this_thread::yield();
}

TEST_F(LogFileTest, WhereNoneCanBeMadeTheFormerOneGoesOn) {
  Open();
  std::filesystem::rename(path_, path_ + ".1");
  std::filesystem::create_directory(path_);
  logger_->info("kept");
  Await(path_ + ".1", "kept");
  std::filesystem::remove(path_);
  logger_->info("anew");
  Await(path_, "anew");
}

TEST_F(LogFileTest, WhatIsNoFileIsRefused) {
  ::mkfifo(path_.c_str(), 0600);
  for (const std::string& path :
       {path_, folder_.path(), std::string("/dev/null"), folder_.path() + "/none/messages"}) {
    EXPECT_FALSE(LogFile::Open(path)) << path;
  }
}

// On a file system of 1 MiB, in a mount namespace of this process.
class LogFileOnAFullDisk : public LogFileTest {
 protected:
  void SetUp() override {
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!mounted_) GTEST_SKIP() << "no file system can be mounted here";
  }
  void TearDown() override {
    Close();
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  void Fill() const {
    std::ofstream filler(folder_.path() + "/filler");
    while (filler << std::string(1000, 'x') << std::flush) continue;
  }

  bool mounted_ = false;
};

// Where standard error goes while it exists.
class StandardError {
 public:
  StandardError() : former_(::dup(STDERR_FILENO)) {
    const fabric::Fd file(::open(path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ::dup2(file.get(), STDERR_FILENO);
  }
  ~StandardError() { ::dup2(former_.get(), STDERR_FILENO); }
  std::string path() const { return folder_.path() + "/stderr"; }

 private:
  test::TemporaryFolder folder_;
  fabric::Fd former_;
};

TEST_F(LogFileOnAFullDisk, LinesAreDroppedCountedAndTheCountIsTold) {
  const StandardError error;  // outside of what is full
  Open();
  logger_->info("before");
  Await(path_, "before");
  Fill();
  for (int i = 0; i < 5000; ++i) logger_->info("a line that finds no room {}", i);
  Await(error.path(), "cannot write --log-output " + path_ + ": No space left on device");
  std::filesystem::remove(folder_.path() + "/filler");
  Await(path_, "dropped: " + path_ + " could not be written");  // though nothing more is logged
  logger_->info("after");
  Await(path_, "after\n");
  size_t whole = 0, dropped = 0;
  std::istringstream text(TextOf(path_));
  for (std::string line; std::getline(text, line);) {
    const size_t at = line.find("] a line that finds no room ");
    EXPECT_EQ(line.rfind("[20"), 0u) << "one line behind another: " << line;
    if (line.find("dropped: ") != std::string::npos) {
      const size_t number = line.find("[warning] ");
      ASSERT_NE(number, std::string::npos) << line;
      dropped += std::stoull(line.substr(number + 10));
    } else if (at != std::string::npos) {
      ++whole;
    }
  }
  // A line that was cut short looks whole at times, and counts as dropped.
  EXPECT_GE(whole + dropped, 5000u);
  EXPECT_LE(whole + dropped, 5010u);
  EXPECT_GT(dropped, 0u);
}

TEST_F(LogFileOnAFullDisk, TheEndDoesNotWaitForRoom) {
  Open();
  Fill();
  for (int i = 0; i < 5000; ++i) logger_->info("a line that finds no room {}", i);
  Close();
}

}  // namespace
}  // namespace plov::service
