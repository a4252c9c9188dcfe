#include "bench/fabric/study.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/designs/side.h"
#include "bench/fabric/perftest.h"
#include "bench/peers/plov.h"
#include "bench/shared/tested_server.h"
#include "verify/bucket.h"
#include "verify/record.h"

namespace plov::bench {

namespace {

constexpr uint32_t kBucketBytes = verify::kBucketBytesMin;
constexpr uint32_t kInlineValueBytes = 16;             // with a key of 16 it lies in the bucket
constexpr uint64_t kServerBytes = uint64_t{32} << 20;  // besides the items
constexpr uint64_t kBytesPerItem = 512;                // besides the value; generous
constexpr uint64_t kFirstIterations = 2000;            // before perftest's speed is known
constexpr uint64_t kIterationsMin = 1000;
constexpr double kIterationsMax = 1e8;

uint32_t RecordBytes(uint32_t value_bytes) {
  return static_cast<uint32_t>(verify::RecordBytes(ItemShape().key_bytes, value_bytes));
}

// What a client remembers.
enum class Memory : uint8_t { kNone, kOfLocations };

// READs of a GET.
struct ReadsOfGet {
  explicit ReadsOfGet(const SideResult& result)
      : of_buckets(static_cast<double>(result.bucket_reads) / static_cast<double>(result.gets)),
        of_records(static_cast<double>(result.reads) / static_cast<double>(result.gets) -
                   of_buckets) {}

  double of_buckets;
  double of_records;
};

class FabricBench {
 public:
  explicit FabricBench(const FabricSettings& settings) { study_.settings = settings; }

  std::expected<FabricStudy, Error> Run() {
    if (auto started = StartServer(); !started) return std::unexpected(started.error());
    if (auto prepared = Prepare(); !prepared) return std::unexpected(prepared.error());
    for (uint32_t round = 0; round < study_.settings.rounds; ++round) {
      if (auto measured = Round(); !measured) return std::unexpected(measured.error());
    }
    return std::move(study_);
  }

 private:
  Outcome StartServer() {
    const FabricSettings& settings = study_.settings;
    program::OwnServerOptions options;
    options.plovd = settings.plovd;
    options.bucket_bytes = kBucketBytes;
    if (settings.is_rdma) {
      auto device = FindServingDevice(settings.device);
      if (!device) return std::unexpected(device.error());
      device_ = std::move(*device);
      study_.device = device_.name;
      auto uri = FreeUriOn(device_);
      if (!uri) return std::unexpected(uri.error());
      options.listen = std::move(*uri);
    }
    options.max_value_bytes = settings.value_bytes;
    options.memory_bytes =
        kServerBytes + 2 * settings.items * (kBytesPerItem + settings.value_bytes);
    auto server = TestedServer::Start({.uri = {}, .own = options});
    if (!server) return std::unexpected(server.error());
    server_ = std::move(*server);
    study_.uri = server_->uri();
    return {};
  }

  void AddGets(std::string name, const Work& work, Memory memory) {
    const uint32_t value_bytes = work.items().shape().value_bytes_most;
    const bool remembers = memory == Memory::kOfLocations;
    sides_.push_back(OursOn({.uri = study_.uri, .remembers = remembers, .learned = {}}, work));
    study_.gets.push_back(
        {.name = std::move(name),
         .value_bytes = value_bytes,
         .remembers = remembers,
         .record_bytes = value_bytes == kInlineValueBytes ? 0 : RecordBytes(value_bytes)});
  }

  // Both kinds of items have keys of their own.
  Outcome Prepare() {
    const FabricSettings& settings = study_.settings;
    const auto shape = [](uint32_t bytes) {
      return ItemShape{.value_bytes_least = bytes, .value_bytes_most = bytes};
    };
    in_bucket_.emplace(settings.items, shape(kInlineValueBytes));
    in_record_.emplace(settings.items, shape(settings.value_bytes), settings.items);
    for (const Work* work : {&*in_bucket_, &*in_record_}) {
      const auto client = Plov::Connect(*work, study_.uri);
      if (!client) return std::unexpected(client.error());
      if (auto stored = (*client)->Fill(); !stored) return stored;
    }
    AddGets("in the bucket", *in_bucket_, Memory::kNone);
    AddGets("in a record", *in_record_, Memory::kNone);
    AddGets("in a record, known", *in_record_, Memory::kOfLocations);
    if (!settings.is_rdma) return {};
    study_.raw = {{.bytes = kBucketBytes}, {.bytes = RecordBytes(settings.value_bytes)}};
    return {};
  }

  Outcome Round() {
    if (auto measured = MeasureRates(); !measured) return measured;
    return MeasureLatencies();
  }

  Outcome MeasureRates() {
    for (RawReads& raw : study_.raw) {
      const auto values = Perftest("ib_read_bw", raw.bytes, raw.per_second.median());
      if (!values) return std::unexpected(values.error());
      const auto rate = values->find("MsgRate[Mpps]");
      if (rate == values->end() || !(rate->second > 0)) {
        return Fail(Code::kProtocol, "ib_read_bw printed no MsgRate");
      }
      raw.per_second.Add(rate->second * 1e6);
    }
    for (size_t i = 0; i < sides_.size(); ++i) {
      const auto gets = sides_[i]->Measure(study_.settings.window, study_.settings.duration);
      if (!gets) return std::unexpected(gets.error());
      const double per_second = static_cast<double>(gets->gets) / gets->seconds;
      const ReadsOfGet reads(*gets);
      GetRow& row = study_.gets[i];
      row.per_second.Add(per_second);
      row.bucket_reads.Add(reads.of_buckets);
      row.record_reads.Add(reads.of_records);
      if (!study_.raw.empty()) row.part.Add(per_second / LimitOf(reads));
    }
    return {};
  }

  Outcome MeasureLatencies() {
    for (RawReads& raw : study_.raw) {
      const double rate = raw.typical_us.empty() ? 0 : 1e6 / raw.typical_us.median();
      const auto values = Perftest("ib_read_lat", raw.bytes, rate);
      if (!values) return std::unexpected(values.error());
      const auto typical = values->find("t_typical[usec]");
      const auto p99 = values->find("99% percentile[usec]");
      if (typical == values->end() || p99 == values->end()) {
        return Fail(Code::kProtocol, "ib_read_lat printed no t_typical or no 99% percentile");
      }
      raw.typical_us.Add(typical->second);
      raw.p99_us.Add(p99->second);
    }
    for (size_t i = 0; i < sides_.size(); ++i) {
      const auto gets = sides_[i]->Measure(1, study_.settings.duration);
      if (!gets) return std::unexpected(gets.error());
      const double median_us = static_cast<double>(gets->latency.Percentile(0.5)) / 1e3;
      const ReadsOfGet reads(*gets);
      GetRow& row = study_.gets[i];
      row.single_us.Add(median_us);
      row.single_p99_us.Add(static_cast<double>(gets->latency.Percentile(0.99)) / 1e3);
      row.single_reads.Add(reads.of_buckets + reads.of_records);
      if (study_.raw.empty()) continue;
      const double raw_us = reads.of_buckets * study_.raw[0].typical_us.last() +
                            reads.of_records * study_.raw[1].typical_us.last();
      row.single_part.Add(raw_us / median_us);
    }
    return {};
  }

  // For about as long as a measurement is to take.
  std::expected<std::map<std::string, double>, Error> Perftest(const char* program, uint32_t bytes,
                                                               double expected_rate) const {
    const double seconds = std::chrono::duration<double>(study_.settings.duration).count();
    uint64_t iterations = kFirstIterations;
    if (expected_rate > 0) {
      iterations = static_cast<uint64_t>(std::min(kIterationsMax, expected_rate * seconds));
    }
    return RunPerftest({.program = program,
                        .device = device_,
                        .bytes = bytes,
                        .iterations = std::max(kIterationsMin, iterations)});
  }

  // GETs a second that perftest's READs of the last round allow.
  double LimitOf(const ReadsOfGet& reads) const {
    const double bucket_seconds = reads.of_buckets / study_.raw[0].per_second.last();
    const double record_seconds = reads.of_records / study_.raw[1].per_second.last();
    return 1 / (bucket_seconds + record_seconds);
  }

  FabricStudy study_;
  DeviceName device_;
  std::unique_ptr<TestedServer> server_;
  std::optional<Work> in_bucket_;
  std::optional<Work> in_record_;
  std::vector<std::unique_ptr<Side>> sides_;  // as study_.gets
};

}  // namespace

bool FabricStudy::reached() const {
  return std::ranges::all_of(gets, [](const GetRow& row) { return row.part.median() >= kGoal; });
}

std::expected<FabricStudy, Error> StudyFabric(const FabricSettings& settings) {
  return FabricBench(settings).Run();
}

}  // namespace plov::bench
