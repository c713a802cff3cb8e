#include "act/undo_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sense/machine.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

using nlohmann::json;

constexpr std::string_view schema = "joulery.undo/1";
constexpr std::string_view suffix = ".undo";
constexpr std::size_t longest_journal = 1 << 20;
constexpr int most_entries = 4096;

json to_json(const KnobState& state) {
  json object{{"limit_uw", state.limit_uw}};
  if (state.enabled) object["enabled"] = *state.enabled;
  return object;
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  const auto value = found->get<std::uint64_t>();
  return value >= 1 && value <= most_entries ? static_cast<int>(value) : 0;
}

std::optional<KnobState> state_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_object()) return std::nullopt;
  const auto limit = found->find("limit_uw");
  if (limit == found->end() || !limit->is_number_unsigned() || limit->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  KnobState state{limit->get<std::int64_t>(), std::nullopt};
  if (const auto enabled = found->find("enabled"); enabled != found->end()) {
    if (!enabled->is_boolean()) return std::nullopt;
    state.enabled = enabled->get<bool>();
  }
  return state;
}

void take_line(const json& line, UndoText& text) {
  if (const int number = number_in(line, "change")) {
    const auto before = state_in(line, "before"), asked = state_in(line, "asked");
    UndoEntry entry{number, text_in(line, "knob"), text_in(line, "at"), before.value_or(KnobState{}), asked.value_or(KnobState{}), {}};
    text.entries = std::max(text.entries, number);
    if (before && asked && !entry.knob.empty() && std::ranges::find(text.open, number, &UndoEntry::number) == text.open.end())
      text.open.push_back(std::move(entry));
  } else if (const int taken = number_in(line, "took")) {
    const auto entry = std::ranges::find(text.open, taken, &UndoEntry::number);
    if (entry != text.open.end()) entry->took = state_in(line, "state");
  } else if (const int done = number_in(line, "done")) {
    std::erase_if(text.open, [&](const UndoEntry& entry) { return entry.number == done; });
  }
}

Result<void> sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return std::unexpected(error_from_errno(errno, "cannot keep what undoes power limits", folder));
  (void)::fsync(descriptor);  // some file systems do not know it for folders
  ::close(descriptor);
  return {};
}

}  // namespace

UndoText parse_undo(std::string_view text) {
  UndoText undo;
  const std::size_t whole = text.rfind('\n');  // what follows it was torn off
  text = text.substr(0, whole == std::string_view::npos ? 0 : whole);
  const json head = json::parse(next_line(text), nullptr, false);
  undo.known = head.is_object() && text_in(head, "schema") == schema;
  if (!undo.known) return undo;
  undo.boot = text_in(head, "boot");
  undo.holder = text_in(head, "holder");
  undo.root = text_in(head, "root");
  while (!text.empty())
    if (const json line = json::parse(next_line(text), nullptr, false); line.is_object()) take_line(line, undo);
  return undo;
}

Result<UndoJournal> UndoJournal::make(const std::string& folder, const std::string& holder, const std::string& root) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return std::unexpected(error_from_errno(failed.value(), "cannot make the folder of what undoes power limits", folder));
  for (int n = 1; n < 10000; ++n) {
    const std::string path = fmt::format("{}/{}-{}{}", folder, ::getpid(), n, suffix);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return std::unexpected(error_from_errno(errno, "cannot keep what undoes power limits", path));
    UndoJournal journal(descriptor, path);
    struct stat status{};
    // Somebody who clears up may have taken it for one that was left.
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 || ::fstat(descriptor, &status) != 0 || status.st_nlink == 0) continue;
    const json head{{"schema", schema}, {"boot", boot_id()}, {"holder", holder}, {"root", root}};
    if (auto written = journal.append(head.dump(-1, ' ', false, json::error_handler_t::replace)); !written)
      return journal.remove(), std::unexpected(written.error());
    if (auto synced = sync_folder(folder); !synced) return journal.remove(), std::unexpected(synced.error());
    return journal;
  }
  return fail(ErrorCode::io, "no free name for what undoes power limits", folder);
}

Result<std::optional<UndoJournal>> UndoJournal::take(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return std::unexpected(error_from_errno(errno, "cannot read what undoes power limits", path));
  UndoJournal journal(descriptor, path);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return std::optional<UndoJournal>();
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || status.st_nlink == 0 || !S_ISREG(status.st_mode)) return std::optional<UndoJournal>();
  return std::optional(std::move(journal));
}

UndoJournal UndoJournal::adopt(int descriptor, std::string path) { return {descriptor, std::move(path)}; }

UndoJournal::UndoJournal(UndoJournal&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), last_(other.last_) {}

UndoJournal& UndoJournal::operator=(UndoJournal&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(last_, other.last_);
  return *this;
}

UndoJournal::~UndoJournal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<UndoText> UndoJournal::read() const {
  std::string text(longest_journal, '\0');
  const ssize_t size = ::pread(descriptor_, text.data(), text.size(), 0);
  if (size < 0) return std::unexpected(error_from_errno(errno, "cannot read what undoes power limits", path_));
  text.resize(static_cast<std::size_t>(size));
  return parse_undo(text);
}

// One write for a whole line, so that a full disk or a crash tears the last line only.
Result<void> UndoJournal::append(const std::string& line) {
  const std::string whole = line + "\n";
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  const ssize_t size = ::write(descriptor_, whole.data(), whole.size());
  if (size != static_cast<ssize_t>(whole.size())) {
    const int number = size < 0 ? errno : ENOSPC;
    if (before >= 0) (void)::ftruncate(descriptor_, before);  // the next line must not be glued to half of this one
    return std::unexpected(error_from_errno(number, "cannot keep what undoes power limits", path_));
  }
  if (::fdatasync(descriptor_) != 0) return std::unexpected(error_from_errno(errno, "cannot keep what undoes power limits", path_));
  return {};
}

Result<int> UndoJournal::add(const std::string& knob, const std::string& where, const KnobState& before, const KnobState& asked) {
  const int number = last_ + 1;
  if (number > most_entries) return fail(ErrorCode::busy, "too many changes in one lease", path_);
  const json line{{"change", number}, {"knob", knob}, {"at", where}, {"before", to_json(before)}, {"asked", to_json(asked)}};
  if (auto written = append(line.dump(-1, ' ', false, json::error_handler_t::replace)); !written) return std::unexpected(written.error());
  return last_ = number;
}

Result<void> UndoJournal::took(int number, const KnobState& state) {
  return append(json{{"took", number}, {"state", to_json(state)}}.dump());
}

Result<void> UndoJournal::done(int number) { return append(json{{"done", number}}.dump()); }

void UndoJournal::remove() { ::unlink(path_.c_str()); }

std::vector<std::string> undo_journals(const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::string& name : Machine().list(folder))
    if (name.ends_with(suffix)) paths.push_back(path_below(folder, name));
  return paths;
}

std::string boot_id() { return Machine().read_or_empty("/proc/sys/kernel/random/boot_id", 64); }

}  // namespace joulery
