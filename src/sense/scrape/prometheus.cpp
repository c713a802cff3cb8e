#include "sense/scrape/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sense/remote/http.h"
#include "sense/scrape/exporters.h"

namespace joulery {
namespace {

constexpr Advice none_configured{"no exporter to scrape is configured",
                                 "[meters.NAME] with kind = \"prometheus\" and url in /etc/joulery/joulery.toml  # joulery config keys"};

// An exporter adds nothing to the error of the meter behind it, which it does not tell: that of GPUs and RAPL is about this.
constexpr RemoteKind kind{"prometheus", "node", {.relative = 0.05, .absolute = {}}};

class PrometheusSource final : public RemoteSource {
 public:
  PrometheusSource(HttpClient client, std::string url, RemoteSettings remote, ScrapeChoice choice)
      : client_(std::move(client)), url_(std::move(url)), remote_(std::move(remote)), choice_(std::move(choice)) {
    if (choice_.metric.empty()) return;
    told_.push_back({choice_.metric, "", false, choice_.scaling.unit.measurand, choice_.scaling, {}});
    fixed_ = true;
  }

  std::vector<Channel> channels() const override {
    std::vector<Channel> channels;
    for (const ScrapedValue& told : told_) {
      Channel channel = channel_of(remote_, told.scaling);
      if (!told.component.empty()) channel.component = Component(remote_.component.path() + "/" + told.component);
      if (told.platform) channel.scope = Scope::platform;
      if (told_.size() > 1) channel.name = fmt::format("{} {}", told.component, told.metric);
      channels.push_back(std::move(channel));
    }
    return channels;
  }

  // What the first page tells fixes the channels; what later pages lack of it is gone.
  Answer<RemoteAnswer> ask(Duration limit) override {
    const auto page = client_.send({.url = url_}, limit);
    if (!page) return std::unexpected(page.error());
    if (const auto trouble = trouble_of_status(page->status)) return std::unexpected(*trouble);
    const auto values = scraped_values(parse_prometheus_text(page->body, choice_.metric.empty() ? is_known_metric : nullptr), choice_);
    if (!values) return std::unexpected(Trouble{MissingReason::rubbish, values.error(), "choose with labels = [\"NAME=VALUE\"]"});
    if (values->empty()) return std::unexpected(nothing_there());
    if (!fixed_) told_ = *values;
    fixed_ = true;
    RemoteAnswer answer;
    for (const ScrapedValue& told : told_) answer.values.push_back(value_for(told, *values));
    return answer;
  }

 private:
  static RemoteValue value_for(const ScrapedValue& wanted, const std::vector<ScrapedValue>& values) {
    for (const ScrapedValue& value : values)
      if (value.metric == wanted.metric && value.component == wanted.component) return value.value;
    return std::unexpected(MissingReason::gone);
  }
  Trouble nothing_there() const {
    if (choice_.metric.empty())
      return {MissingReason::not_supported, "its page has no series of dcgm-exporter, Kepler or node_exporter that tell energy or power",
              "set metric, unit and labels for the one to read"};
    return {MissingReason::not_supported, fmt::format("its page has no series {} with these labels", choice_.metric),
            "check metric and labels"};
  }

  HttpClient client_;
  std::string url_;
  RemoteSettings remote_;
  ScrapeChoice choice_;
  std::vector<ScrapedValue> told_;
  bool fixed_ = false;
};

// "host=n1" -> {"host", "n1"}. Errors: usage.
Result<std::vector<std::pair<std::string, std::string>>> read_labels(const Settings& settings, const std::string& key) {
  std::vector<std::pair<std::string, std::string>> labels;
  const auto texts = settings.texts(key);
  if (!texts) return std::unexpected(texts.error());
  for (const std::string& text : texts->value_or(std::vector<std::string>())) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::usage, fmt::format("no label: '{}'", text), settings.find(key)->origin.describe(), "write NAME=VALUE");
    labels.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return labels;
}

Result<std::unique_ptr<RemoteSource>> make_source(const RemoteSettings& remote, const Settings& settings, std::string& warning) {
  const auto url = settings.text(remote.section + ".url"), metric = settings.text(remote.section + ".metric");
  if (!url) return std::unexpected(url.error());
  if (!metric) return std::unexpected(metric.error());
  if (!*url) return fail(ErrorCode::usage, "a prometheus meter needs a url", remote.section, fmt::format("set {}.url", remote.section));
  const auto scaling = read_scaling(settings, remote.section);
  if (!scaling) return std::unexpected(scaling.error());
  auto labels = read_labels(settings, remote.section + ".labels");
  if (!labels) return std::unexpected(labels.error());
  auto access = read_http_access(settings, remote.section, warning);
  if (!access) return std::unexpected(access.error());
  auto client = HttpClient::make(*std::move(access));
  if (!client) return fail(ErrorCode::unsupported, client.error().what, "", client.error().remedy);
  return std::make_unique<PrometheusSource>(*std::move(client), **url, remote,
                                            ScrapeChoice{metric->value_or(""), *std::move(labels), *scaling});
}

}  // namespace

Discovery probe_prometheus(const Machine&, const Settings& settings) { return probe_remote(kind, settings, none_configured, make_source); }

}  // namespace joulery
