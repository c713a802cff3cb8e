// `joulery top`: who burns how much, live in the terminal or once as text or JSON.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "app/command.h"
#include "app/command_line.h"
#include "app/open_node_watch.h"
#include "app/terminal_screen.h"
#include "publish/top_screen.h"

namespace joulery {
namespace {

constexpr const char* keys = "q quit  p pause  s sort  k kind  t tree  / filter  arrows scroll";

struct TopWords {
  NodeWatchOptions watch;
  std::string interval = "1s", kind = "process", order = "watts";
  bool once = false;
  FormChoice form;
  FactorWords factors;
  std::vector<std::string> sets;
  TopView view;
};

template <class Enum>
Enum next_of(Enum value, Enum last) {
  return value == last ? Enum{} : static_cast<Enum>(static_cast<int>(value) + 1);
}

// What a key does to the view; false ends.
bool press(const std::string& key, TopView& view) {
  if (view.asking) {
    if (key == "enter" || key == "escape") view.asking = false;
    if (key == "escape") view.choice.filter.clear();
    if (key == "backspace" && !view.choice.filter.empty()) view.choice.filter.pop_back();
    if (key.size() == 1) view.choice.filter += key;
    return key != "end";
  }
  if (key == "q" || key == "end") return false;
  if (key == "p" || key == " ") view.paused = !view.paused;
  if (key == "s") view.choice.order = next_of(view.choice.order, ConsumerOrder::name);
  if (key == "k") view.choice.kind = next_of(view.choice.kind, ConsumerKind::tag);
  if (key == "k") view.tree = false;
  if (key == "t") view.tree = !view.tree, view.choice.kind = ConsumerKind::process;
  if (key == "/") view.asking = true, view.choice.filter.clear();
  if (key == "up" && view.scrolled > 0) --view.scrolled;
  if (key == "down") ++view.scrolled;
  if (key == "page up") view.scrolled -= std::min<std::size_t>(view.scrolled, 10);
  if (key == "page down") view.scrolled += 10;
  return true;
}

int live(NodeWatch& watch, TopWords& words, Duration interval) {
  auto style = style_for(words.form, STDOUT_FILENO);
  if (!style) return complain("top", style.error(), exit_usage);
  auto screen = TerminalScreen::open();
  if (!screen) return complain("top", screen.error(), exit_usage);
  TopHistory history;
  NodeAccount account = watch.account();
  if (words.view.note.empty()) words.view.note = keys;
  watch.start();
  for (MonoTime next = mono_now() + interval;;) {
    const auto size = TerminalScreen::size();
    style->width = size.width;
    screen->draw(top_screen(account, history, words.view, *style, size.height));
    if (const auto key = screen->key(next - mono_now())) {
      if (!press(*key, words.view)) return 0;
      continue;
    }
    next = std::max(next + interval, mono_now());
    if (!watch.tick() || words.view.paused) continue;  // what is burnt meanwhile is counted all the same
    account = watch.account();
    history.take(account);
  }
}

// The rows that the agent's API gives: the kind, idle and unattributed.
ConsumerChoice json_choice(const TopChoice& choice) {
  return {{choice.kind, ConsumerKind::idle, ConsumerKind::unattributed}, choice.most.value_or(0), choice.order};
}

// Two ticks: after the first there is a use of CPUs to tell.
int once(NodeWatch& watch, const TopWords& words, Duration interval) {
  const auto style = style_for(words.form, STDOUT_FILENO);
  if (!style) return complain("top", style.error(), exit_usage);
  TopHistory history;
  watch.start();
  for (int ticks = 0; ticks < 2;) {
    ::usleep(static_cast<useconds_t>(std::max<std::int64_t>(1000, interval.base_units() / 2000)));
    if (!watch.tick()) continue;
    ++ticks;
    history.take(watch.account());
  }
  const NodeAccount account = watch.account();
  if (words.form.json) return put(stdout, consumers_json(account, json_choice(words.view.choice), false)) ? 0 : 1;
  constexpr int everything = 100'000;
  std::string text;
  for (const std::string& line : top_screen(account, history, words.view, *style, everything)) text += line + "\n";
  return put(stdout, text) ? 0 : 1;
}

std::optional<int> read_options(std::vector<std::string> arguments, TopWords& words) {
  CLI::App app("Shows who burns how much: processes, containers, jobs, with watts, joules, share and trend.", "joulery top");
  app.add_option("--interval", words.interval, "time between looks, 100ms to 1h (1s)")->type_name("TIME");
  app.add_option("--kind", words.kind, "process, cgroup, container, pod, unit, job, step, user or tag (process)")->type_name("KIND");
  app.add_option("--sort", words.order, "watts, joules, cpu or name (watts)")->type_name("ORDER");
  app.add_option("--filter", words.view.choice.filter, "only whose name or label holds this")->type_name("TEXT");
  app.add_option("-n,--most", words.view.choice.most, "rows at most")->type_name("N");
  app.add_flag("--tree", words.view.tree, "processes below the container, job, unit or user that they belong to");
  app.add_option("--idle", words.watch.idle, "who carries static power: separate, proportional or reserved (separate)")
      ->type_name("POLICY");
  app.add_flag("--once", words.once, "two looks, then print and end");
  app.add_flag("--json", words.form.json, "print JSON; with --once");
  app.add_option("--color", words.form.color, "auto, always or never")->type_name("WHEN");
  app.add_option("--estimate", words.watch.estimate, "auto, all or none: which parts without a sensor to estimate")->type_name("WHICH");
  app.add_option("--cpu-time", words.watch.cpu_time, "auto, ebpf or proc: how it is known who used the CPUs (auto)")->type_name("HOW");
  app.add_option("--sysroot", words.watch.sysroot, "read meters and processes from a tree with sys/ and proc/ in it")->type_name("DIR");
  add_set_option(app, words.sets);
  return parse(app, std::move(arguments));
}

Result<void> understand(TopWords& words) {
  const auto kinds = parse_kinds(words.kind);
  if (!kinds) return std::unexpected(kinds.error());
  if (kinds->size() != 1 || kinds->front() >= ConsumerKind::idle)
    return fail(ErrorCode::usage, "one kind of consumer at a time", "--kind",
                "process, cgroup, container, pod, unit, job, step, user, tag");
  const auto order = parse_order(words.order);
  if (!order) return std::unexpected(order.error());
  if (words.form.json && !words.once) return fail(ErrorCode::usage, "JSON is of one look", "--json", "add --once");
  words.view.choice.kind = kinds->front();
  words.view.choice.order = *order;
  const auto interval = parse_interval(words.interval);
  if (!interval) return std::unexpected(interval.error());
  words.watch.interval = std::max(*interval, milliseconds(100));
  return check_sysroot(words.watch.sysroot);
}

}  // namespace

int top_command(std::vector<std::string> arguments) {
  TopWords words;
  if (const auto code = read_options(std::move(arguments), words)) return *code;
  if (const auto understood = understand(words); !understood) return complain("top", understood.error(), exit_usage);
  const auto settings = settings_with(words.factors, words.sets);
  if (!settings) return complain("top", settings.error(), exit_usage);
  auto opened = open_node_watch(words.watch, *settings);
  if (!opened) return complain("top", opened.error(), opened.error().code == ErrorCode::usage ? exit_usage : 1);
  words.view.note = opened->note;
  return words.once ? once(*opened->watch, words, words.watch.interval) : live(*opened->watch, words, words.watch.interval);
}

}  // namespace joulery
