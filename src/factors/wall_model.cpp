#include "factors/wall_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "config/toml.h"
#include "config/toml_ascii.h"
#include "core/near_names.h"
#include "core/units.h"
#include "factors/whole_file.h"

namespace joulery {
namespace {

constexpr double sigmas_90 = 1.645;
constexpr const char* learn_again = "learn it again: joulery calibrate --wall FILE";

// The numbers of a model by the names they have in its file.
struct Number {
  const char* key;
  double (*get)(const WallModel&);
  void (*set)(WallModel&, double);
};

constexpr Number numbers[] = {
    {"fixed_watts", [](const WallModel& m) { return m.coefficients[0]; }, [](WallModel& m, double v) { m.coefficients[0] = v; }},
    {"slope", [](const WallModel& m) { return m.coefficients[1]; }, [](WallModel& m, double v) { m.coefficients[1] = v; }},
    {"bend_per_watt", [](const WallModel& m) { return m.coefficients[2]; }, [](WallModel& m, double v) { m.coefficients[2] = v; }},
    {"stretch_error", [](const WallModel& m) { return m.stretch_error; }, [](WallModel& m, double v) { m.stretch_error = v; }},
    {"mean_error", [](const WallModel& m) { return m.mean_error; }, [](WallModel& m, double v) { m.mean_error = v; }},
    {"meter_error", [](const WallModel& m) { return m.meter_error; }, [](WallModel& m, double v) { m.meter_error = v; }},
    {"least_watts", [](const WallModel& m) { return to_watts(m.least); }, [](WallModel& m, double v) { m.least = watts(v); }},
    {"most_watts", [](const WallModel& m) { return to_watts(m.most); }, [](WallModel& m, double v) { m.most = watts(v); }},
    {"window_seconds", [](const WallModel& m) { return to_seconds(m.window); }, [](WallModel& m, double v) { m.window = seconds(v); }},
};

const std::vector<std::string> keys = {"fixed_watts", "slope",      "bend_per_watt",  "stretch_error", "mean_error", "meter_error",
                                       "least_watts", "most_watts", "window_seconds", "covariance",    "values",     "source",
                                       "cpu",         "sockets",    "board",          "accelerators",  "inputs"};

std::unexpected<Error> bad(std::string what, const std::string& where) {
  return fail(ErrorCode::format, "the wall model: " + std::move(what), where, learn_again);
}

std::string text_of(const toml::table& table, const char* key) { return from_ascii_spelling(table[key].value_or(std::string_view())); }

// Errors: a key that is absent, is no number, or no finite one.
Result<double> number_of(const toml::table& table, const char* key, const std::string& where) {
  const toml::node* node = table.get(key);
  if (!node || !node->is_number()) return bad(fmt::format("{} is not a number", key), where);
  const double value = node->value<double>().value_or(NAN);
  if (!std::isfinite(value)) return bad(fmt::format("{} is not a number", key), where);
  return value;
}

Result<void> read_covariance(const toml::table& table, WallModel& model, const std::string& where) {
  const toml::array* all = table["covariance"].as_array();
  if (!all || all->size() != 9) return bad("covariance does not hold 9 numbers", where);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto value = (*all)[i].value<double>();
    if (!value || !std::isfinite(*value)) return bad("covariance does not hold 9 numbers", where);
    model.covariance[i / 3][i % 3] = *value;
  }
  return {};
}

Result<void> read_kind(const toml::table& table, WallKind& kind, const std::string& where) {
  kind.cpu = text_of(table, "cpu");
  kind.board = text_of(table, "board");
  kind.sockets = table["sockets"].value_or(0);
  if (const toml::array* all = table["accelerators"].as_array())
    for (const toml::node& each : *all) kind.accelerators.push_back(from_ascii_spelling(each.value_or(std::string_view())));
  const toml::table* inputs = table["inputs"].as_table();
  if (!inputs || inputs->empty()) return bad("inputs are missing", where);
  for (const auto& [name, count] : *inputs) kind.inputs[from_ascii_spelling(name.str())] = count.value_or(0);
  return {};
}

// A wall delivers something, and more for more.
bool plausible(const WallModel& m) {
  return m.least < m.most && to_watts(m.least) >= 0 && to_watts(m.at(m.least)) > 0 && m.at(m.most) > m.at(m.least) &&
         m.stretch_error >= 0 && m.meter_error >= 0;
}

std::string parts_text(const std::map<std::string, int>& inputs) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : inputs) texts.push_back(fmt::format("{} {}", count, name));
  return texts.empty() ? "no measured part" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not told" : text; }

}  // namespace

WallKind wall_kind(const CpuIdentity& cpu, const MachineKind& machine, std::map<std::string, int> inputs) {
  return {cpu.model_name, cpu.sockets, machine.board, machine.accelerators, std::move(inputs)};
}

std::string kind_difference(const WallKind& learnt, const WallKind& here) {
  const auto differs = [](const char* what, const std::string& there, const std::string& now) {
    return fmt::format("learnt on another kind of machine: {} {} there, {} here", what, there, now);
  };
  if (learnt.cpu != here.cpu) return differs("processor", or_unknown(learnt.cpu), or_unknown(here.cpu));
  if (learnt.sockets != here.sockets) return differs("sockets", std::to_string(learnt.sockets), std::to_string(here.sockets));
  if (learnt.board != here.board) return differs("board", or_unknown(learnt.board), or_unknown(here.board));
  if (learnt.accelerators != here.accelerators)
    return differs("accelerators", or_unknown(fmt::format("{}", fmt::join(learnt.accelerators, " "))),
                   or_unknown(fmt::format("{}", fmt::join(here.accelerators, " "))));
  if (learnt.inputs != here.inputs) return differs("measured parts", parts_text(learnt.inputs), parts_text(here.inputs));
  return {};
}

Power WallModel::at(Power parts) const {
  const double p = to_watts(parts);
  return watts(coefficients[0] + p * (coefficients[1] + p * coefficients[2]));
}

Power WallModel::half_interval(Power parts) const {
  const double p = to_watts(parts);
  const std::array<double, 3> v{1, p, p * p};
  double variance = 0;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) variance += v[r] * covariance[r][c] * v[c];
  const double value = std::abs(to_watts(at(parts)));
  const double line = sigmas_90 * std::sqrt(std::max(0.0, variance)), unseen = sigmas_90 * stretch_error * value;
  return watts(std::hypot(line, unseen, meter_error * value));
}

// The matrix row by row on one line. Not by toml++ 3.3, which works out how wide an array will be by casting the logarithm
// of each number to an unsigned one: undefined below 1.
std::string covariance_line(const WallModel& model) {
  std::string line;
  for (const auto& row : model.covariance)
    for (const double value : row) line += fmt::format("{}{}", line.empty() ? "covariance = [" : ", ", value);
  return line + "]\n";
}

std::string wall_model_text(const WallModel& model) {
  toml::table table;
  for (const Number& number : numbers) table.insert(number.key, number.get(model));
  toml::array accelerators;
  for (const std::string& accelerator : model.kind.accelerators) accelerators.push_back(ascii_spelling(accelerator));
  toml::table inputs;
  for (const auto& [name, count] : model.kind.inputs) inputs.insert(ascii_spelling(name), count);
  table.insert("values", model.values);
  table.insert("source", ascii_spelling(model.source));
  table.insert("cpu", ascii_spelling(model.kind.cpu));
  table.insert("sockets", model.kind.sockets);
  table.insert("board", ascii_spelling(model.kind.board));
  table.insert("accelerators", std::move(accelerators));
  table.insert("inputs", std::move(inputs));
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "# What the wall delivers for what the parts take; written by joulery calibrate --wall.\n"
       << covariance_line(model) << table << "\n";
  return from_ascii_spelling(text.str());
}

Result<WallModel> parse_wall_model(std::string_view text, const std::string& where) {
  if (const std::size_t line = unfit_line(text))
    return bad("a section without a name, a control character, or a letter beyond ASCII outside quotes", fmt::format("{}:{}", where, line));
  const toml::parse_result parsed = toml::parse(ascii_spelling(text), where);
  if (!parsed) return bad(std::string(parsed.error().description()), fmt::format("{}:{}", where, parsed.error().source().begin.line));
  const toml::table& table = parsed.table();
  for (const auto& [key, value] : table) {
    const std::string name = from_ascii_spelling(key.str());
    if (std::ranges::find(keys, name) == keys.end()) return bad(fmt::format("unknown key \"{}\"", name), where);
  }
  WallModel model;
  for (const Number& number : numbers) {
    const auto value = number_of(table, number.key, where);
    if (!value) return std::unexpected(value.error());
    if (std::string_view(number.key) == "window_seconds" && std::abs(*value) > 1e6) return bad("window_seconds is too long", where);
    number.set(model, *value);
  }
  if (const auto read = read_covariance(table, model, where); !read) return std::unexpected(read.error());
  if (const auto read = read_kind(table, model.kind, where); !read) return std::unexpected(read.error());
  model.values = table["values"].value_or(std::int64_t{0});
  model.source = text_of(table, "source");
  if (!plausible(model)) return bad("its numbers are those of no machine", where);
  return model;
}

Result<WallModel> read_wall_model(const std::string& path) {
  const auto text = read_whole_file(path, "the wall model", learn_again);
  if (!text) return std::unexpected(text.error());
  return parse_wall_model(*text, path);
}

Result<void> write_wall_model(const std::string& path, const WallModel& model) {
  return write_whole_file(path, wall_model_text(model), "the wall model");
}

}  // namespace joulery
