#include "ledger/run_facts.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace joulery {

using Json = nlohmann::json;

namespace {

// Names of Fill as they are stored and written on the command line.
constexpr const char* fill_names[] = {"auto", "all", "none"};

Json to_json(const CpuIdentity& cpu) {
  Json json{{"model_name", cpu.model_name}, {"vendor", cpu.vendor},
            {"family", cpu.family},         {"model", cpu.model},
            {"stepping", cpu.stepping},     {"sockets", cpu.sockets},
            {"cores", cpu.cores},           {"threads", cpu.threads},
            {"memory_gb", cpu.memory_gb},   {"virtual_machine", cpu.virtual_machine},
            {"hypervisor", cpu.hypervisor}};
  if (cpu.memory_limit_gb) json["memory_limit_gb"] = *cpu.memory_limit_gb;
  return json;
}

// A whole number that fits; a fraction, or one beyond the type, is damage like any other.
template <class Whole>
Whole whole_of(const Json& json) {
  if (!json.is_number_integer()) throw std::domain_error("no whole number");
  const auto value = json.get<std::int64_t>();
  if (!std::in_range<Whole>(value)) throw std::domain_error("a number out of range");
  return static_cast<Whole>(value);
}

int count_in(const Json& json, const char* name, int otherwise) { return json.contains(name) ? whole_of<int>(json[name]) : otherwise; }

CpuIdentity identity_from(const Json& json) {
  CpuIdentity cpu;
  cpu.model_name = json.value("model_name", "");
  cpu.vendor = json.value("vendor", "");
  cpu.family = count_in(json, "family", 0);
  cpu.model = count_in(json, "model", 0);
  cpu.stepping = count_in(json, "stepping", 0);
  cpu.sockets = count_in(json, "sockets", 1);
  cpu.cores = count_in(json, "cores", 1);
  cpu.threads = count_in(json, "threads", 1);
  cpu.memory_gb = json.value("memory_gb", 0.0);
  cpu.virtual_machine = json.value("virtual_machine", false);
  cpu.hypervisor = json.value("hypervisor", "");
  if (json.contains("memory_limit_gb")) cpu.memory_limit_gb = json["memory_limit_gb"].get<double>();
  return cpu;
}

Json to_json(const FactorChoice& choice) {
  Json json = Json::object();
  if (!choice.place.empty()) json["place"] = choice.place;
  if (choice.intensity) json["g_per_kwh"] = to_grams_per_kilowatt_hour(*choice.intensity);
  if (choice.pue) json["pue"] = *choice.pue;
  if (!choice.tariff.empty()) json["tariff"] = choice.tariff;
  return json;
}

FactorChoice choice_from(const Json& json) {
  FactorChoice choice;
  choice.place = json.value("place", "");
  if (json.contains("g_per_kwh")) choice.intensity = grams_per_kilowatt_hour(json["g_per_kwh"].get<double>());
  if (json.contains("pue")) choice.pue = json["pue"].get<double>();
  choice.tariff = json.value("tariff", "");
  return choice;
}

Json to_json(const HeldPowerLimit& limit) {
  Json json{{"component", limit.component.path()}, {"name", limit.name}, {"asked_uw", limit.asked_uw}, {"took_uw", limit.took_uw},
            {"before_uw", limit.before_uw},        {"by", limit.by}};
  if (limit.enforced_uw) json["enforced_uw"] = *limit.enforced_uw;
  if (!limit.changed.empty()) json["changed"] = limit.changed;
  return json;
}

HeldPowerLimit limit_from(const Json& json) {
  const auto power = [&](const char* name) {
    const auto value = whole_of<std::int64_t>(json.at(name));
    if (value < 0) throw std::domain_error("a power below zero");
    return value;
  };
  HeldPowerLimit limit{Component(json.at("component").get<std::string>()),
                       json.at("name").get<std::string>(),
                       power("asked_uw"),
                       power("took_uw"),
                       power("before_uw"),
                       std::nullopt,
                       json.value("by", ""),
                       json.value("changed", "")};
  if (json.contains("enforced_uw")) limit.enforced_uw = power("enforced_uw");
  return limit;
}

// Reads one entry into the facts.
using Reader = void (*)(const Json&, RunFacts&);
struct Entry {
  const char* name;
  Reader read;
};

const Entry entries[] = {
    {"version", [](const Json& j, RunFacts& f) { f.version = j.get<std::string>(); }},
    {"command", [](const Json& j, RunFacts& f) { f.command = j.get<std::vector<std::string>>(); }},
    {"exit_code", [](const Json& j, RunFacts& f) { f.exit_code = whole_of<int>(j); }},
    {"interval_ns", [](const Json& j, RunFacts& f) { f.interval = nanoseconds(whole_of<std::int64_t>(j)); }},
    {"run_begin_ns",
     [](const Json& j, RunFacts& f) {
       if (!f.run) f.run.emplace();
       f.run->begin.ns = whole_of<std::int64_t>(j);
     }},
    {"run_end_ns",
     [](const Json& j, RunFacts& f) {
       if (!f.run) f.run.emplace();
       f.run->end.ns = whole_of<std::int64_t>(j);
       f.run_ended = true;
     }},
    {"baseline_begin_ns",
     [](const Json& j, RunFacts& f) {
       if (!f.baseline) f.baseline.emplace();
       f.baseline->begin.ns = whole_of<std::int64_t>(j);
     }},
    {"baseline_end_ns",
     [](const Json& j, RunFacts& f) {
       if (!f.baseline) f.baseline.emplace();
       f.baseline->end.ns = whole_of<std::int64_t>(j);
     }},
    {"machine", [](const Json& j, RunFacts& f) { f.machine = identity_from(j); }},
    {"machine_kind",
     [](const Json& j, RunFacts& f) { f.kind = {j.at("board").get<std::string>(), j.at("accelerators").get<std::vector<std::string>>()}; }},
    {"host", [](const Json& j, RunFacts& f) { f.host = {j.at("name").get<std::string>(), j.at("boot_id").get<std::string>()}; }},
    {"wall_clock_error_ns", [](const Json& j, RunFacts& f) { f.wall_clock_error = nanoseconds(whole_of<std::int64_t>(j)); }},
    {"missing",
     [](const Json& j, RunFacts& f) {
       for (const Json& part : j)
         f.missing.push_back({Component(part.at("component").get<std::string>()), part.at("reason").get<std::string>()});
     }},
    {"work",
     [](const Json& j, RunFacts& f) {
       for (const Json& work : j) f.work.push_back({work.at("unit").get<std::string>(), work.at("count").get<double>()});
     }},
    {"marks_lost", [](const Json& j, RunFacts& f) { f.marks_lost = whole_of<std::int64_t>(j); }},
    {"notes", [](const Json& j, RunFacts& f) { f.notes = j.get<std::vector<std::string>>(); }},
    {"unseen_cpu_ns", [](const Json& j, RunFacts& f) { f.unseen_cpu = nanoseconds(whole_of<std::int64_t>(j)); }},
    {"short_lived",
     [](const Json& j, RunFacts& f) {
       if (j.size() > 64) throw std::domain_error("more names than are ever written");
       for (const Json& sum : j) {
         const auto count = whole_of<std::int64_t>(sum.at("count")), ns = whole_of<std::int64_t>(sum.at("cpu_ns"));
         constexpr std::int64_t three_years = 100'000'000'000'000'000;  // of one CPU: sums of so few do not run over
         if (count < 1 || ns < 0 || ns > three_years) throw std::domain_error("a number out of range");
         f.short_lived.push_back({sum.at("name").get<std::string>(), count, nanoseconds(ns)});
       }
     }},
    {"idle",
     [](const Json& j, RunFacts& f) {
       f.idle = IdlePower{watts(j.at("host_watts").get<double>()), watts(j.at("accelerator_watts").get<double>()),
                          j.at("source").get<std::string>()};
     }},
    {"power_limits",
     [](const Json& j, RunFacts& f) {
       for (const Json& limit : j) f.power_limits.push_back(limit_from(limit));
     }},
    {"factors", [](const Json& j, RunFacts& f) { f.factors = choice_from(j); }},
    {"fill",
     [](const Json& j, RunFacts& f) {
       for (int i = 0; i < 3; ++i)
         if (j == fill_names[i]) f.fill = static_cast<Fill>(i);
     }},
};

}  // namespace

Metadata to_metadata(const RunFacts& facts) {
  Metadata metadata;
  // A command line may hold any bytes: those that are no UTF-8 become U+FFFD.
  const auto put = [&](const char* name, const Json& json) { metadata[name] = json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  put("version", facts.version);
  put("command", facts.command);
  put("machine", to_json(facts.machine));
  if (facts.kind != MachineKind{}) put("machine_kind", {{"board", facts.kind.board}, {"accelerators", facts.kind.accelerators}});
  if (facts.host != HostIdentity{}) put("host", {{"name", facts.host.name}, {"boot_id", facts.host.boot_id}});
  if (facts.wall_clock_error) put("wall_clock_error_ns", facts.wall_clock_error->base_units());
  put("factors", to_json(facts.factors));
  put("fill", fill_names[static_cast<int>(facts.fill)]);
  if (facts.exit_code) put("exit_code", *facts.exit_code);
  if (facts.interval > Duration{}) put("interval_ns", facts.interval.base_units());
  if (facts.run) put("run_begin_ns", facts.run->begin.ns);
  if (facts.run && facts.run_ended) put("run_end_ns", facts.run->end.ns);
  if (facts.baseline) put("baseline_begin_ns", facts.baseline->begin.ns), put("baseline_end_ns", facts.baseline->end.ns);
  if (!facts.notes.empty()) put("notes", facts.notes);
  if (facts.marks_lost) put("marks_lost", facts.marks_lost);
  if (facts.unseen_cpu > Duration{}) put("unseen_cpu_ns", facts.unseen_cpu.base_units());
  if (facts.idle)
    put("idle", {{"host_watts", to_watts(facts.idle->host)},
                 {"accelerator_watts", to_watts(facts.idle->accelerators)},
                 {"source", facts.idle->source}});
  Json missing = Json::array(), work = Json::array();
  for (const MissingPart& part : facts.missing) missing.push_back({{"component", part.component.path()}, {"reason", part.reason}});
  for (const WorkDone& done : facts.work) work.push_back({{"unit", done.unit}, {"count", done.count}});
  if (!facts.short_lived.empty()) {
    Json sums = Json::array();
    for (const ShortLivedSum& sum : facts.short_lived)
      sums.push_back({{"name", sum.name}, {"count", sum.count}, {"cpu_ns", sum.cpu.base_units()}});
    put("short_lived", sums);
  }
  if (!facts.power_limits.empty()) {
    Json limits = Json::array();
    for (const HeldPowerLimit& limit : facts.power_limits) limits.push_back(to_json(limit));
    put("power_limits", limits);
  }
  put("missing", missing);
  if (!work.empty()) put("work", work);
  return metadata;
}

Result<RunFacts> facts_from(const Metadata& metadata) {
  RunFacts facts;
  for (const Entry& entry : entries) {
    const auto found = metadata.find(entry.name);
    if (found == metadata.end()) continue;
    try {
      entry.read(Json::parse(found->second), facts);
    } catch (const std::exception&) {  // of nlohmann-json, or from whole_of()
      return fail(ErrorCode::format, "the recording's metadata is damaged", entry.name,
                  "the rest can be read with: joulery sql FILE 'SELECT * FROM metadata'");
    }
  }
  return facts;
}

}  // namespace joulery
