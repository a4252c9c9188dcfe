#include "metrics/exporter.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <chrono>
#include <exception>
#include <stop_token>
#include <thread>
#include <utility>

#include "metrics/families.h"
#include "metrics/place.h"

namespace plov::metrics {

namespace {

class Collector : public prometheus::Collectable {
 public:
  explicit Collector(Exporter::Source source) : source_(std::move(source)) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return FamiliesOf(source_()); }

 private:
  Exporter::Source source_;
};

prometheus::MetricFamily FamilyOf(const SampleFamily& samples) {
  using prometheus::MetricType;
  prometheus::MetricFamily family{
      .name = samples.name,
      .help = samples.help,
      .type = samples.only_grows ? MetricType::Counter : MetricType::Gauge,
      .metric = {}};
  for (const Sample& sample : samples.samples) {
    prometheus::ClientMetric metric;
    if (!sample.label.empty()) metric.label = {{samples.label, sample.label}};
    (samples.only_grows ? metric.counter.value : metric.gauge.value) = sample.value;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

class SampleCollector : public prometheus::Collectable {
 public:
  explicit SampleCollector(Exporter::SampleSource source) : source_(std::move(source)) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    for (const SampleFamily& samples : source_()) families.push_back(FamilyOf(samples));
    return families;
  }

 private:
  Exporter::SampleSource source_;
};

// A scrape takes milliseconds.
std::vector<std::string> OptionsOf(const std::string& host, uint16_t port) {
  return {"listening_ports",    host + ":" + std::to_string(port),
          "num_threads",        "2",  //
          "request_timeout_ms", "2000",
          "enable_keep_alive",  "no",  //
          "connection_queue",   "16",
          "listen_backlog",     "16",
          "max_request_size",   "4096"};
}

}  // namespace

struct Exporter::Http {
  Address address{};
  uint16_t port = 0;
  std::shared_ptr<prometheus::Collectable> collector;
  std::unique_ptr<prometheus::Exposer> exposer;
};

Exporter::Exporter(std::unique_ptr<Http> http) : http_(std::move(http)) {}

// The HTTP server looks every two seconds whether it is to end, and whenever somebody connects.
Exporter::~Exporter() {
  const std::jthread waker([this](const std::stop_token& ended) {
    for (; !ended.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      Touch(http_->address, http_->port);
    }
  });
  http_->exposer.reset();
}

std::expected<void, Error> Exporter::Check(const std::string& place) {
  const auto parsed = ParsePlace(place);
  if (!parsed) return std::unexpected(parsed.error());
  return {};
}

std::expected<std::unique_ptr<Exporter>, Error> Exporter::Listen(const std::string& place,
                                                                 Source source) {
  auto http = std::make_unique<Http>();
  http->collector = std::make_shared<Collector>(std::move(source));
  return ListenWith(place, std::move(http));
}

std::expected<std::unique_ptr<Exporter>, Error> Exporter::Listen(const std::string& place,
                                                                 SampleSource source) {
  auto http = std::make_unique<Http>();
  http->collector = std::make_shared<SampleCollector>(std::move(source));
  return ListenWith(place, std::move(http));
}

std::expected<std::unique_ptr<Exporter>, Error> Exporter::ListenWith(const std::string& place,
                                                                     std::unique_ptr<Http> http) {
  const auto parsed = ParsePlace(place);
  if (!parsed) return std::unexpected(parsed.error());
  const auto address = AddressOf(*parsed);
  if (!address) return std::unexpected(address.error());
  try {
    http->exposer = std::make_unique<prometheus::Exposer>(OptionsOf(address->text(), parsed->port));
    http->exposer->RegisterCollectable(http->collector);
  } catch (const std::exception& error) {
    return Fail(Code::kSystem, "cannot serve metrics on " + place + ": " + error.what());
  }
  http->address = *address;
  http->port = static_cast<uint16_t>(http->exposer->GetListeningPorts().front());
  std::unique_ptr<Exporter> exporter(new Exporter(std::move(http)));
  exporter->url_ =
      "http://" + address->text() + ":" + std::to_string(exporter->http_->port) + "/metrics";
  exporter->is_open_ = !address->is_loopback();
  return exporter;
}

}  // namespace plov::metrics
