#include "app/serve/server_scraper.h"

#include <algorithm>

namespace joulery {
namespace {

constexpr std::size_t most_page_bytes = 8 << 20;
constexpr Duration shortest_interval = milliseconds(50), longest_interval = milliseconds(3'600'000);

std::string with_path(std::string url) {
  const auto authority = url.find("://");
  if (authority == std::string::npos) return url;
  const auto path = url.find('/', authority + 3);
  if (path == std::string::npos) return url + "/metrics";
  return path + 1 == url.size() ? url + "metrics" : url;
}

// Sets `to` where the section has the key.
Result<void> read_duration(const Settings& settings, const std::string& key, Duration& to) {
  const auto value = settings.duration(key);
  if (!value) return std::unexpected(value.error());
  if (!*value) return {};
  if (**value < shortest_interval || **value > longest_interval)
    return fail(ErrorCode::usage, "'" + key + "' must lie from 50ms to 1h", settings.find(key)->origin.describe());
  to = **value;
  return {};
}

}  // namespace

Result<ServerChoice> read_server(const Settings& settings, const std::string& name, std::string& warning) {
  const std::string section = "servers." + name;
  const auto url = settings.text(section + ".url"), kind = settings.text(section + ".kind");
  if (!url) return std::unexpected(url.error());
  if (!kind) return std::unexpected(kind.error());
  if (!*url) return fail(ErrorCode::usage, "the server has no address", section, "set url = \"http://127.0.0.1:8000/metrics\"");
  ServerChoice choice;
  choice.name = name;
  choice.url = with_path(**url);
  if (*kind) choice.kind = find_server_kind(**kind);
  if (const auto read = read_duration(settings, section + ".interval", choice.interval); !read) return std::unexpected(read.error());
  if (const auto read = read_duration(settings, section + ".timeout", choice.timeout); !read) return std::unexpected(read.error());
  auto access = read_http_access(settings, section, warning);
  if (!access) return std::unexpected(access.error());
  choice.access = *std::move(access);
  return choice;
}

Result<ServerChoice> server_at(const std::string& url) {
  const bool web = url.starts_with("http://") || url.starts_with("https://");
  const auto authority = url.substr(std::min(url.find("//") + 2, url.size()));
  if (!web || authority.substr(0, authority.find_first_of("/?#")).contains('@'))
    return fail(ErrorCode::usage, "no address of a server: http:// or https://, without a password in it", url,
                "with a password or token: a section [servers.NAME] in the configuration, and --server NAME");
  ServerChoice choice;
  choice.url = with_path(url);
  return choice;
}

Result<ServerScraper> ServerScraper::open(ServerChoice choice) {
  HttpAccess access = std::move(choice.access);
  choice.access = {};
  auto client = HttpClient::make(std::move(access));
  if (!client) return fail(ErrorCode::unsupported, client.error().what, choice.url, client.error().remedy);
  return ServerScraper(std::move(choice), *std::move(client));
}

Answer<ServerScraper::Look> ServerScraper::look() {
  HttpCall call;
  call.url = choice_.url;
  call.most_bytes = most_page_bytes;
  const MonoTime before = mono_now();
  const auto reply = client_.send(call, choice_.timeout);
  const MonoTime after = mono_now();
  if (!reply) return std::unexpected(reply.error());
  if (auto trouble = trouble_of_status(reply->status)) {
    if (reply->status == 404) trouble->remedy = "give the whole address of its metrics; a server without any (Ollama): --proxy";
    return std::unexpected(*std::move(trouble));
  }
  auto page = read_server_page(parse_prometheus_text(reply->body), choice_.kind);
  if (!page) return std::unexpected(Trouble{MissingReason::rubbish, page.error(), "check the address; --proxy needs no metrics"});
  choice_.kind = page->kind;
  return Look{{before.ns + (after - before).base_units() / 2}, *std::move(page)};
}

}  // namespace joulery
