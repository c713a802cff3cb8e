#include "config/toml_layer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "config/known_keys.h"
#include "config/toml.h"
#include "config/toml_ascii.h"

namespace joulery {
namespace {

constexpr std::size_t most_bytes = 1 << 20;

Origin origin_of(const toml::source_region& region, const std::string& file) { return {file, region.begin.line}; }

std::optional<std::vector<std::string>> texts_in(const toml::array& array) {
  std::vector<std::string> texts;
  for (const toml::node& node : array) {
    const auto spelling = node.value_exact<std::string_view>();
    if (!spelling) return std::nullopt;
    texts.push_back(from_ascii_spelling(*spelling));
  }
  return texts;
}

// Nothing for what no key may be: a date, a list of numbers.
std::optional<SettingValue> value_in(const toml::node& node) {
  if (const auto spelling = node.value_exact<std::string_view>()) return from_ascii_spelling(*spelling);
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto whole = node.value_exact<std::int64_t>()) return *whole;
  if (const auto real = node.value_exact<double>()) return *real;
  if (const toml::array* array = node.as_array()) {
    if (auto texts = texts_in(*array)) return *std::move(texts);
  }
  return std::nullopt;
}

// One layer on its way into the settings.
class Layer {
 public:
  Layer(const std::string& file, Settings& settings) : file_(file), settings_(settings) {}

  Result<void> add(const toml::table& table, const std::string& above) {
    for (const auto& [name, node] : table) {
      const std::string key = above + from_ascii_spelling(name.str());
      if (const auto added = add_one(key, node, origin_of(name.source(), file_)); !added) return added;
    }
    return {};
  }

 private:
  Result<void> add_one(const std::string& key, const toml::node& node, const Origin& origin) {
    const bool section = is_known_section(key);
    const KnownKey* known = find_known_key(key);
    if (!section && !known) return std::unexpected(unknown_key_error(key, origin));
    const toml::table* table = node.as_table();
    if (section && !table) return fail(ErrorCode::usage, fmt::format("'{}' must be a section, [{}]", key, key), origin.describe());
    if (section) return add(*table, key + ".");
    auto value = value_in(node);
    if (!value) return std::unexpected(wrong_type_error(*known, key, origin));
    auto good = checked_value(*known, key, *std::move(value), origin);
    if (!good) return std::unexpected(good.error());
    settings_.set(key, {*std::move(good), origin});
    return {};
  }

  const std::string& file_;
  Settings& settings_;
};

// A whole open file, up to one byte more than may be.
Result<std::string> read_all(int file, const std::string& path) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while (text.size() <= most_bytes && (got = ::read(file, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  if (got < 0) return std::unexpected(error_from_errno(errno, "cannot read the configuration", path));
  if (text.size() > most_bytes) return fail(ErrorCode::format, "cannot read the configuration: more than 1 MiB", path);
  return text;
}

// Who called sudo; -1 where nobody did.
uid_t caller_of_sudo() {
  const char* text = ::getuid() == 0 ? std::getenv("SUDO_UID") : nullptr;
  uid_t caller = static_cast<uid_t>(-1);
  if (text) std::from_chars(text, text + std::strlen(text), caller);
  return caller;
}

Result<void> check_owner(const struct stat& status, const std::string& path) {
  const bool ours = status.st_uid == ::geteuid() || status.st_uid == 0 || status.st_uid == caller_of_sudo();
  if (!ours)
    return fail(ErrorCode::permission, "the configuration in this folder belongs to somebody else", path,
                "remove it, make it yours (chown), or run joulery from another folder");
  if ((status.st_mode & S_IWOTH) != 0)
    return fail(ErrorCode::permission, "anyone may write the configuration in this folder", path, "chmod o-w " + path);
  return {};
}

Result<void> add_file(const std::string& path, Settings& settings, bool anybody_could_have_put_it_there) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot read the configuration", path));
  struct stat status{};
  Result<void> good;
  if (::fstat(file, &status) != 0) good = std::unexpected(error_from_errno(errno, "cannot read the configuration", path));
  if (good && anybody_could_have_put_it_there) good = check_owner(status, path);
  Result<std::string> text = good ? read_all(file, path) : Result<std::string>(std::unexpected(good.error()));
  ::close(file);
  if (!text) return std::unexpected(text.error());
  return add_toml(*text, path, settings);
}

}  // namespace

Result<void> add_toml(std::string_view text, const std::string& name, Settings& settings) {
  if (const std::size_t line = unfit_line(text))
    return fail(ErrorCode::format,
                "cannot read the configuration: a section without a name, a control character, or a letter beyond ASCII outside quotes",
                Origin{name, line}.describe());
  const toml::parse_result parsed = toml::parse(ascii_spelling(text), name);
  if (!parsed)
    return fail(ErrorCode::format, fmt::format("cannot read the configuration: {}", from_ascii_spelling(parsed.error().description())),
                origin_of(parsed.error().source(), name).describe());
  return Layer(name, settings).add(parsed.table(), "");
}

Result<void> add_toml_file(const std::string& path, Settings& settings) { return add_file(path, settings, false); }
Result<void> add_local_toml_file(const std::string& path, Settings& settings) { return add_file(path, settings, true); }

}  // namespace joulery
