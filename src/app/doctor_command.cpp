// `joulery doctor`: which meters this machine has, which can be read, and what mends the others.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/command_line.h"
#include "sense/host/cpu_identity_reader.h"
#include "sense/meters.h"
#include "sense/obstacles.h"
#include "watch/open_cpu_account.h"

namespace joulery {
namespace {

bool tells_energy(const Channel& channel) { return channel.measurand == Measurand::energy || channel.measurand == Measurand::power; }

// A meter that was found is read once: only what answers can measure.
bool measures(Device& device) {
  const auto channels = device.meter->channels();
  Sink sink(channels.size());
  sink.start();
  device.meter->read(sink);
  sink.finish();
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (tells_energy(channels[i]) && sink.readings()[i].ok()) return true;
  return false;
}

// How CPU time would be known by process here: an account is opened as top and the agent would, and closed again.
Finding cpu_time_finding(const std::string& sysroot) {
  const auto opened = open_cpu_account(sysroot, CpuAccountChoice::best);
  if (!opened) return blocked_finding("cpu-time", "proc", Advice{opened.error().what, opened.error().hint}, opened.error().where);
  Finding finding = readable_finding("cpu-time", std::string(opened->account->method()));
  if (const auto& instead = opened->instead_of_ebpf) {
    finding.reason = instead->what + (instead->where.empty() ? "" : ": " + instead->where);
    finding.remedy = instead->hint;
    if (instead->code == ErrorCode::permission)
      finding.remedy =
          "sudo joulery top  # as root it may\n"
          "setcap cap_bpf,cap_perfmon+ep \"$(command -v joulery)\"  # for everybody who may run it";
  }
  return finding;
}

nlohmann::ordered_json json_of(const Finding& f) {
  return {{"kind", f.kind}, {"device", f.device}, {"found", f.found}, {"readable", f.readable}, {"reason", f.reason}, {"remedy", f.remedy}};
}

std::string as_json(const std::vector<Finding>& findings, const Finding& cpu_time, bool any) {
  nlohmann::ordered_json json{{"schema", "joulery.doctor/1"}, {"measures", any}, {"meters", nlohmann::ordered_json::array()}};
  for (const Finding& f : findings) json["meters"].push_back(json_of(f));
  json["cpu_time"] = json_of(cpu_time);
  return json.dump(2) + "\n";
}

// Indents every line of `text`.
std::string indented(const std::string& text, const char* by) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += by + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// Kinds that tell no energy are read for what they say of load and memory.
bool kind_tells_energy(const std::vector<Device>& devices, const std::string& kind) {
  return std::ranges::any_of(
      devices, [&](const Device& device) { return device.kind == kind && std::ranges::any_of(device.meter->channels(), tells_energy); });
}

void print_finding(const Finding& f, bool energy, const TextStyle& style) {
  const auto [word, ink] = f.readable ? (energy ? std::pair("measures", Ink::good) : std::pair("reads", Ink::plain))
                           : f.found  ? std::pair("blocked", Ink::bad)
                                      : std::pair("absent", Ink::dim);
  const std::string name = f.device.empty() ? f.kind : f.kind + " " + f.device;
  fmt::print("  {} {}\n", painted(fmt::format("{:<9}", word), ink, style), painted(name, f.found ? Ink::strong : Ink::dim, style));
  if (!f.reason.empty()) fmt::print("{}", indented(f.reason, "            "));
  if (!f.remedy.empty()) fmt::print("{}", indented(f.remedy, style.unicode ? "            → " : "            > "));
}

void print_cpu_time(const Finding& f, const TextStyle& style) {
  fmt::print("\n{}\n", painted("How it is known who used the CPUs (joulery top, joulery agent)", Ink::strong, style));
  Finding told = f;
  if (f.device == "ebpf") told.reason = "by the scheduler's own account of each switch, which misses nobody";
  if (f.device == "proc" && f.readable) told.reason = "by looks through /proc, which miss who comes and goes between two\n" + f.reason;
  print_finding(told, false, style);
}

void print_text(const Discovery& discovery, const Finding& cpu_time, bool any, const CpuIdentity& cpu, const TextStyle& style) {
  fmt::print("{}\n", painted("What can be measured on this machine", Ink::strong, style));
  if (!cpu.model_name.empty())
    fmt::print("  {}, {} CPUs, {:.0f} GiB{}\n", cpu.model_name, cpu.threads, cpu.memory_gb,
               cpu.virtual_machine ? fmt::format(", a virtual machine{}", cpu.hypervisor.empty() ? "" : " (" + cpu.hypervisor + ")") : "");
  fmt::print("\n");
  std::vector<Finding> sorted = discovery.findings;
  const auto rank = [](const Finding& f) { return f.readable ? 0 : f.found ? 1 : 2; };
  std::ranges::stable_sort(sorted, {}, rank);
  for (const Finding& finding : sorted) print_finding(finding, kind_tells_energy(discovery.devices, finding.kind), style);
  print_cpu_time(cpu_time, style);
  if (any)
    fmt::print("\n{}\n", painted("Energy can be measured here.", Ink::good, style));
  else
    fmt::print("\n{}\n", painted("Nothing here measures energy: joulery run gives an estimate, and says so.", Ink::fair, style));
}

}  // namespace

int doctor_command(std::vector<std::string> arguments) {
  CLI::App app(
      "Shows which meters this machine has, which can be read, and what mends the others.\nExit code 0 where something "
      "measures energy, 4 where only an estimate is possible.",
      "joulery doctor");
  bool json = false;
  std::string sysroot;
  FormChoice form;
  std::vector<std::string> sets;
  app.add_flag("--json", json, "as JSON, schema joulery.doctor/1");
  app.add_option("--sysroot", sysroot, "look at a tree with sys/ and proc/ in it")->type_name("DIR");
  app.add_option("--color", form.color, "auto, always or never")->type_name("WHEN");
  add_set_option(app, sets);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto style = style_for(form, STDOUT_FILENO);
  if (!style) return complain("doctor", style.error(), exit_usage);
  if (const auto there = check_sysroot(sysroot); !there) return complain("doctor", there.error(), exit_usage);
  const Machine machine(sysroot);
  // A configuration that this user may not read leaves the machine's own meters to be told of.
  auto settings = settings_with({}, sets);
  if (!settings && settings.error().code == ErrorCode::permission) {
    complain("doctor", settings.error(), 0);
    settings = Settings();
  }
  if (!settings) return complain("doctor", settings.error(), exit_usage);
  Discovery discovery = discover(machine, *settings, Look::thorough);
  // A slow device that did not answer when it was looked for is not waited for a second time.
  const auto is_silent = [&](const Device& device) {
    return device.slow && std::ranges::any_of(discovery.findings, [&](const Finding& f) {
             return f.kind == device.kind && f.device == device.name && !f.readable;
           });
  };
  const auto answers = [&](Device& device) { return !is_silent(device) && measures(device); };
  const bool any = std::ranges::count_if(discovery.devices, answers) > 0;
  const Finding cpu_time = cpu_time_finding(sysroot);
  if (json)
    fmt::print("{}", as_json(discovery.findings, cpu_time, any));
  else
    print_text(discovery, cpu_time, any, read_cpu_identity(machine), *style);
  return any ? 0 : exit_only_estimate;
}

}  // namespace joulery
