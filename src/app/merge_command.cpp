// `joulery merge A B ... -o OUT`: recordings of the hosts of one job as one recording of the job.
#include <fmt/format.h>

#include "app/command.h"
#include "app/command_line.h"
#include "app/version.h"
#include "core/units.h"
#include "ledger/merge/write_job.h"

namespace joulery {
namespace {

struct Words {
  std::vector<std::string> files;
  std::string output;
  bool apart = false;
};

Result<MergePlan> merge(const Words& words) {
  std::vector<MergeInput> inputs;
  for (const std::string& file : words.files) {
    auto input = MergeInput::open(file);
    if (!input) return std::unexpected(input.error());
    inputs.push_back(std::move(*input));
  }
  auto plan = plan_merge(inputs, words.apart);
  if (!plan) return plan;
  if (const auto done = write_job(inputs, *plan, version, words.output); !done) return std::unexpected(done.error());
  return plan;
}

std::string clock_words(const ClockAlignment& clock) {
  const std::string words = fmt::format("its clock {} {} by {}", to_text(clock.ahead < Duration{} ? -clock.ahead : clock.ahead),
                                        clock.ahead < Duration{} ? "behind" : "ahead", clock.source);
  if (!clock.low) return words + ", error not known";
  return fmt::format("{}, 90 % within ±{}", words, to_text(std::max(*clock.high - clock.ahead, clock.ahead - *clock.low)));
}

std::string said(const Words& words, const MergePlan& plan) {
  std::string text;
  for (const PlannedHost& host : plan.hosts) {
    text += fmt::format("{}: {} {}", host.name, host.inputs.size(), host.inputs.size() == 1 ? "recording" : "recordings, counted once");
    if (&host != &plan.hosts.front()) text += ", " + clock_words(host.alignment);
    text += "\n";
  }
  for (const std::string& note : plan.notes)
    if (note.starts_with("counted-once: ")) text += note.substr(note.find(' ') + 1) + ": taken once\n";
  return text + fmt::format("Recording  {}\n", words.output);
}

}  // namespace

int merge_command(std::vector<std::string> arguments) {
  CLI::App app("Makes one recording of a job from those of its hosts and ranks, for every command that takes one.", "joulery merge");
  Words words;
  app.add_option("FILE", words.files, "recordings made by joulery run; the first one's clock is the job's")->required()->expected(1, -1);
  app.add_option("-o,--output", words.output, "the recording to make")->required()->type_name("REC");
  app.add_flag("--apart", words.apart, "merge them although they do not overlap in time");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto plan = merge(words);
  if (!plan) return complain("merge", plan.error(), plan.error().code == ErrorCode::usage ? exit_usage : 1);
  if (!put(stdout, said(words, *plan))) return complain("merge", error_from_errno(errno, "cannot write", "standard output"), 1);
  return 0;
}

}  // namespace joulery
