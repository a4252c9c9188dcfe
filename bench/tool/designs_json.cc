// A study of designs as JSON.

#include "bench/tool/designs_study.h"
#include "bench/tool/sample_text.h"
#include "client/cli/json.h"

namespace plov::bench {

std::string JsonOf(const DesignsStudy& study) {
  cli::Json object = cli::Json::object();
  object["fabric"] = study.fabric;
  object["device"] = study.device;
  object["items"] = study.settings.items;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["results"] = cli::Json::array();
  for (const DesignRow& row : study.rows) {
    cli::Json result = {{"design", kDesignNames[row.design]},
                        {"value_bytes", row.value_bytes},
                        {"window", row.window},
                        {"per_second", JsonOf(row.per_second)},
                        {"reads_per_get", row.reads.median()},
                        {"bytes_per_get", row.bytes.median()},
                        {"server_cpu_us_per_get", row.server_cpu_us.median()},
                        {"mean_us", row.mean_us()}};
    if (row.window == 1) {
      result["median_us"] = JsonOf(row.median_us);
      result["p99_us"] = JsonOf(row.p99_us);
    }
    object["results"].push_back(std::move(result));
  }
  object["clients"] = cli::Json::array();
  for (const DesignClientsRow& row : study.clients) {
    object["clients"].push_back({{"design", kDesignNames[row.work.design]},
                                 {"operation", row.work.puts ? "put" : "get"},
                                 {"servers", row.work.servers},
                                 {"value_bytes", study.settings.value_bytes.front()},
                                 {"window", study.settings.window},
                                 {"clients", row.clients},
                                 {"per_second", JsonOf(row.per_second)},
                                 {"server_cpu_us", row.server_cpu_us.median()},
                                 {"server_cores", row.cores()}});
  }
  return cli::LineOf(object);
}

}  // namespace plov::bench
