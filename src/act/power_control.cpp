#include "act/power_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <ranges>

#include "core/near_names.h"
#include "sense/machine.h"

namespace joulery {
namespace {

constexpr std::int64_t least_of_all_uw = 1'000'000;  // where the hardware names no least; 0 would mean "none" to some drivers

// Alone among all who set limits with journals in one folder.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    const std::string path = folder + "/lock";
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return std::unexpected(error_from_errno(errno, "cannot keep what undoes power limits", path));
    FolderLock lock(descriptor);
    while (::flock(descriptor, LOCK_EX) != 0)
      if (errno != EINTR) return std::unexpected(error_from_errno(errno, "cannot lock the folder of what undoes power limits", path));
    return lock;
  }
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

std::string state_text(const KnobState& state) {
  return watts_text(state.limit_uw) + (state.enabled && !*state.enabled ? " (switched off)" : "");
}

// What was ours of the present state is put back; what is not is left.
KnobState target_of(const KnobState& now, const UndoEntry& entry) {
  if (!entry.took) return entry.before;
  KnobState target = now;
  if (now.limit_uw == entry.took->limit_uw) target.limit_uw = entry.before.limit_uw;
  if (now.enabled == entry.took->enabled) target.enabled = entry.before.enabled;
  return target;
}

std::optional<UndoText> text_of(const std::string& path) {
  const auto text = Machine().read(path);
  return text ? std::optional(parse_undo(*text + "\n")) : std::nullopt;  // read() takes white space off the end
}

bool changes(const UndoText& text, const std::string& knob) {
  return std::ranges::find(text.open, knob, &UndoEntry::knob) != text.open.end();
}

void describe(const KnobFacts& facts, PowerLimit& limit) {
  limit.component = facts.component;
  limit.name = facts.name;
  limit.kind = facts.kind;
  limit.usual = facts.usual;
  limit.least_uw = facts.least_uw;
  limit.most_uw = facts.most_uw;
  limit.standard_uw = facts.standard_uw;
  limit.window_us = facts.window_us;
}

}  // namespace

std::string watts_text(std::int64_t microwatts) {
  std::string text = fmt::format("{:.3f}", static_cast<double>(microwatts) * 1e-6);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text + " W";
}

Result<void> check_range(const KnobFacts& facts, std::int64_t now_uw, std::int64_t asked_uw) {
  const std::int64_t least = facts.least_uw.value_or(least_of_all_uw);
  const std::int64_t most = std::max(facts.most_uw.value_or(now_uw), now_uw);
  if (asked_uw >= least && asked_uw <= most) return {};
  return fail(ErrorCode::usage, fmt::format("{} is out of the range of this power limit", watts_text(asked_uw)),
              limit_address(facts.component, facts.name), fmt::format("it takes {} to {}", watts_text(least), watts_text(most)));
}

Result<PowerKnob*> PowerControl::find(const LimitRequest& request) const {
  const std::string address = limit_address(request.component, request.name);
  std::vector<std::string> names;
  for (const auto& knob : knobs_) {
    const KnobFacts& facts = knob->facts();
    if (facts.component == request.component && (request.name.empty() ? facts.usual : facts.name == request.name)) return knob.get();
    names.push_back(request.name.empty() ? facts.component.path() : limit_address(facts.component, facts.name));
  }
  const std::string nearest = nearest_name(address, names);
  return fail(ErrorCode::not_found, knobs_.empty() ? "this machine shows no power limit" : "there is no such power limit", address,
              nearest.empty() ? "joulery power lists what there is" : "did you mean '" + nearest + "'?");
}

PowerKnob* PowerControl::by_id(const std::string& id) const {
  const auto found = std::ranges::find_if(knobs_, [&](const auto& knob) { return knob->facts().id == id; });
  return found == knobs_.end() ? nullptr : found->get();
}

std::string PowerControl::holder_of(const std::string& knob, const std::string& except) const {
  for (const std::string& path : undo_journals(folder_)) {
    if (path == except) continue;
    const auto text = text_of(path);
    if (text && text->root == root_ && changes(*text, knob)) return text->holder.empty() ? "somebody" : text->holder;
  }
  return {};
}

std::vector<PowerLimit> PowerControl::list() {
  std::vector<PowerLimit> limits;
  for (const auto& knob : knobs_) {
    PowerLimit limit;
    describe(knob->facts(), limit);
    limit.holder = holder_of(knob->facts().id, "");
    std::optional<Error> why = knob->obstacle();
    if (const auto now = knob->read()) {
      limit.now_uw = now->limit_uw;
      limit.in_force = now->enabled.value_or(true) && now->limit_uw > 0;
      limit.enforced_uw = knob->enforced_uw();
    } else if (!why) {
      why = Error{now.error().code, now.error().line(), "", ""};
    }
    limit.settable = !why;
    if (why) limit.reason = why->what, limit.remedy = why->hint;
    limits.push_back(std::move(limit));
  }
  return limits;
}

Result<void> PowerControl::check(const LimitRequest& request) const {
  const auto knob = find(request);
  if (!knob) return std::unexpected(knob.error());
  if (auto why = (*knob)->obstacle()) return std::unexpected(*std::move(why));
  const auto now = (*knob)->read();
  if (!now) return std::unexpected(now.error());
  return check_range((*knob)->facts(), now->limit_uw, request.microwatts);
}

Result<LimitTaken> PowerControl::set(const LimitRequest& request, UndoJournal& journal) {
  const auto alone = FolderLock::take(folder_);
  if (!alone) return std::unexpected(alone.error());
  const auto knob = find(request);
  if (!knob) return std::unexpected(knob.error());
  const KnobFacts& facts = (*knob)->facts();
  const std::string where = limit_address(facts.component, facts.name);
  if (auto why = (*knob)->obstacle()) return fail(why->code, where + ": " + why->what, why->where, why->hint);
  if (const std::string holder = holder_of(facts.id, journal.path()); !holder.empty())
    return fail(ErrorCode::busy, "somebody else holds this power limit", where, holder);
  return write(**knob, request, journal);
}

Result<LimitTaken> PowerControl::write(PowerKnob& knob, const LimitRequest& request, UndoJournal& journal) {
  const KnobFacts& facts = knob.facts();
  const std::string where = limit_address(facts.component, facts.name);
  const auto before = knob.read();
  if (!before) return std::unexpected(before.error());
  if (const auto fits = check_range(facts, before->limit_uw, request.microwatts); !fits) return std::unexpected(fits.error());
  const KnobState asked = knob.limited_to(request.microwatts);
  const auto number = journal.add(facts.id, where, *before, asked);
  if (!number) return std::unexpected(number.error());
  const auto written = knob.write(asked);
  const auto took = knob.read();
  const auto undo_at_once = [&](Error why) -> Result<LimitTaken> {
    if (took && *took != *before) (void)knob.write(*before);
    if (const auto now = knob.read(); now && *now == *before) (void)journal.done(*number);
    return std::unexpected(std::move(why));
  };
  if (!written)
    return undo_at_once({written.error().code, where + ": " + written.error().what, written.error().where, written.error().hint});
  if (!took) return undo_at_once(took.error());
  if (took->limit_uw == before->limit_uw && request.microwatts != before->limit_uw)
    return undo_at_once({ErrorCode::unsupported, "the hardware keeps to " + watts_text(took->limit_uw), where,
                         "it ignored the request; its firmware may have locked the limit"});
  if (const auto kept = journal.took(*number, *took); !kept) return undo_at_once(kept.error());
  return LimitTaken{facts.name, before->limit_uw, request.microwatts, took->limit_uw, knob.enforced_uw()};
}

Undone PowerControl::undo_entry(const UndoEntry& entry, const std::string& boot) const {
  const auto told = [&](bool settled, std::string text) { return Undone{settled, false, entry.where + ": " + std::move(text)}; };
  const auto back = [&](const KnobState& at) { return Undone{true, true, entry.where + ": back at " + state_text(at)}; };
  if (const std::string now = boot_id(); !boot.empty() && !now.empty() && boot != now)
    return told(true, "the machine was started anew since it was set, which undid it");
  PowerKnob* const knob = by_id(entry.knob);
  if (!knob) return told(false, "is not on this machine now; its limit was " + state_text(entry.before));
  const auto now = knob->read();
  if (!now) return told(false, "cannot be put back to " + state_text(entry.before) + ": " + now.error().line());
  if (*now == entry.before) return back(entry.before);
  const KnobState target = target_of(*now, entry);
  if (target == *now)
    return told(true, fmt::format("somebody else set it to {} meanwhile: left so (it was {})", state_text(*now), state_text(entry.before)));
  if (const auto written = knob->write(target); !written)
    return told(false, "cannot be put back to " + state_text(entry.before) + ": " + written.error().line());
  const auto after = knob->read();
  if (!after) return told(false, "was put back to " + state_text(entry.before) + " and cannot be read: " + after.error().line());
  if (*after == entry.before) return back(*after);
  if (*after == target)
    return told(true, fmt::format("put back as far as it was ours, at {} (it was {})", state_text(*after), state_text(entry.before)));
  return told(true, fmt::format("put back to {}, of which the hardware took {}", state_text(target), state_text(*after)));
}

std::vector<Undone> PowerControl::undo(UndoJournal& journal) {
  std::vector<Undone> all;
  const auto text = journal.read();
  if (!text) return {{false, false, text.error().line()}};
  if (!text->known && text->entries == 0) {
    struct stat status{};
    if (::fstat(journal.descriptor(), &status) == 0 && status.st_size == 0) return journal.remove(), all;
    return {{false, false, journal.path() + ": is not understood; it says what power limits were before somebody set them"}};
  }
  for (const UndoEntry& entry : std::views::reverse(text->open)) {
    all.push_back(undo_entry(entry, text->boot));
    if (all.back().settled) (void)journal.done(entry.number);
  }
  if (std::ranges::all_of(all, &Undone::settled)) journal.remove();
  return all;
}

std::vector<Undone> PowerControl::recover() {
  std::vector<Undone> all;
  for (const std::string& path : undo_journals(folder_)) {
    if (const auto text = text_of(path); text && text->known && text->root != root_) continue;  // of another tree
    auto journal = UndoJournal::take(path);
    if (!journal) {
      if (journal.error().code != ErrorCode::not_found) all.push_back({false, false, journal.error().line()});
    } else if (*journal) {
      std::ranges::move(undo(**journal), std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace joulery
