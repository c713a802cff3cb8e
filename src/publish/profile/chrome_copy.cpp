#include "publish/profile/chrome_copy.h"

#include <fmt/format.h>

#include "publish/json_writer.h"
#include "publish/profile/power_counters.h"
#include "watch/profile/kineto.h"

namespace joulery {
namespace {

// The event with `arguments` added to its own.
void append_event(std::string& out, const ChromeEvent& event, const std::string& arguments) {
  const std::string_view text = event.text;
  if (event.args.empty()) {
    out.append(text.substr(0, text.size() - 1));
    out.append(text.size() > 2 ? ",\"args\":{" : "\"args\":{").append(arguments).append("}}");
    return;
  }
  const auto close = static_cast<std::size_t>(event.args.data() - text.data()) + event.args.size() - 1;
  const bool empty = event.args.find('"') == std::string_view::npos;
  out.append(text.substr(0, close));
  if (!empty) out.append(",");
  out.append(arguments).append(text.substr(close));
}

class Copier {
 public:
  Copier(TraceInput& input, const EnergyFinder& energy, const PutBytes& put)
      : input_(&input), energy_(&energy), put_(&put), placer_(input.limits()), scanner_(input, [this](std::string_view bytes) {
          write(bytes);
        }) {}

  Result<void> copy() {
    for (;;) {
      const auto item = scanner_.next();
      if (!item) return std::unexpected(item.error());
      if (*item == ChromeScanner::Item::end) break;
      if (*item == ChromeScanner::Item::event) copy_event(scanner_.event());
      if (*item == ChromeScanner::Item::events_end) add_counters();
      if (failed_) break;
    }
    flush();
    if (failed_) return fail(ErrorCode::io, "cannot write the copy of the trace");
    return {};
  }

 private:
  void write(std::string_view bytes) {
    out_.append(bytes);
    if (out_.size() > 1 << 18) flush();
  }
  void flush() {
    if (!failed_ && !(*put_)(out_)) failed_ = true;
    out_.clear();
  }

  void copy_event(const ChromeEvent& event) {
    any_ = true;
    const auto placed = placer_.place(event);
    const auto joules =
        placed ? energy_->find(placed->track, placed->begin + energy_->profile().base_ns, placed->duration, placed->name) : std::nullopt;
    if (!joules) return write(event.text);
    append_event(out_, event, energy_arguments(*joules));
    write("");
  }

  void add_counters() {
    if (!energy_->source()) return;
    put_power_counters(energy_->profile(), *energy_->source(), energy_->profile().base_ns, [&](const std::string& event) {
      write(any_ ? ",\n" : "\n");
      write(event);
      any_ = true;
      return !failed_;
    });
  }

  TraceInput* input_;
  const EnergyFinder* energy_;
  const PutBytes* put_;
  KinetoPlacer placer_;
  ChromeScanner scanner_;
  std::string out_;
  bool any_ = false, failed_ = false;
};

}  // namespace

std::string energy_arguments(const EventJoules& joules) {
  if (joules.range) return fmt::format(R"("energy_j":{:.9g},"energy_quality":"estimated")", joules.whole);
  const std::string together = joules.together.empty() ? "" : ",\"energy_not_told_apart\":" + json_quoted(joules.together);
  return fmt::format(R"("energy_j":{:.9g},"energy_self_j":{:.9g},"energy_quality":"estimated"{})", joules.whole, joules.own, together);
}

Result<void> copy_chrome_trace(TraceInput& input, const EnergyFinder& energy, const PutBytes& put) {
  return Copier(input, energy, put).copy();
}

}  // namespace joulery
