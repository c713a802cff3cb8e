#include "app/measurement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "app/command.h"
#include "app/live_window.h"
#include "app/loaded_run.h"
#include "app/recorder.h"
#include "app/short_children.h"
#include "app/told_energy.h"
#include "app/user_folders.h"
#include "core/wall_clock_error.h"
#include "meter/sampler.h"
#include "record/recording.h"
#include "watch/energy_teller.h"
#include "watch/mark_reader.h"
#include "watch/process_tree.h"
#include "watch/program.h"
#include "watch/ring_directory.h"

namespace joulery {
namespace {

constexpr Duration marks_period = milliseconds(100);   // a thread's lane holds 8,192 marks
constexpr Duration quiet_period = milliseconds(250);   // where no program marks yet; whoever begins to has filled no lane by then
constexpr Duration flush_period =
    milliseconds(980);  // a kill loses the last second at most, and rounds are handed on some milliseconds late
constexpr Duration asked_period = milliseconds(190);   // every second look: how often a program that asks is told what it has burnt
constexpr Duration often_enough = milliseconds(20);    // of the rounds of a device that only counts, to tell what was burnt so far

// What is known of a device from the start: functions that its driver lacks, whose energy it counts.
void note_remarks(RecordingWriter& writer, const std::vector<Device>& devices) {
  const MonoTime now = mono_now();
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (const std::string& remark : devices[i].remarks)
      writer.add(
          RecordedEvent{{now, now}, "remark", devices[i].kind + " " + devices[i].name + ": " + remark, static_cast<std::int64_t>(i)});
}

// Keeps the last rounds and tells what was burnt: to whoever looks on, and to the program itself.
class Watcher {
 public:
  Watcher(const MeasurementPlan& plan, std::vector<RecordedDevice> devices, const Progress& progress, EnergyTeller* program)
      : window_(std::move(devices), LiveEnergy::rounds_for(plan.interval), often_enough),
        burnt_(make(plan)),
        shown_(burnt_),
        progress_(progress),
        program_(program) {}
  LiveWindow& window() { return window_; }

  void begin(MonoTime begin) {
    if (program_) program_->publish(told_energy(begin, {}));
  }
  // Once a second.
  void tell(MonoTime begin) {
    if (progress_) progress_(mono_now() - begin, shown_.since(begin, window_));
    tell_program(begin);
  }
  // More often, where the program asks for it.
  void tell_who_asks(MonoTime begin) {
    if (program_ && mono_now() - told_ >= asked_period && program_->wanted()) tell_program(begin);
  }

 private:
  static LiveEnergy make(const MeasurementPlan& plan) {
    auto model = power_model_of(plan.facts.machine);
    return {model ? std::optional(*std::move(model)) : std::nullopt, plan.facts.fill, plan.facts.missing, plan.facts.machine.threads};
  }
  void tell_program(MonoTime begin) {
    told_ = mono_now();
    if (!program_) return;
    (void)burnt_.since(begin, window_);
    program_->publish(told_energy(begin, burnt_.sum()));
  }

  LiveWindow window_;
  LiveEnergy burnt_, shown_;
  const Progress& progress_;
  EnergyTeller* program_;
  MonoTime told_{INT64_MIN / 2};
};

// The command while it runs: marks, processes and the file are looked after until it ends.
class Attendance {
 public:
  Attendance(RecordingWriter& writer, MarkReader& marks, Watcher& watcher) : writer_(writer), marks_(marks), watcher_(watcher) {}

  Result<ChildEnd> attend(Child& child, MonoTime begin) {
    ProcessTree tree(child.pid());
    ShortChildren children(child.pid());
    in_file_until_ = begin;
    watcher_.begin(begin);
    MonoTime next_flush = begin + flush_period;
    for (MonoTime next = begin + marks_period;; next = std::max(next + pause(), mono_now())) {
      auto end = child.wait_until(next);
      if (!end) return std::unexpected(end.error());
      for (const Mark& mark : marks_.drain()) writer_.add(mark);
      if (*end) return note_end(tree, children, **end);
      watcher_.tell_who_asks(begin);
      if (mono_now() < next_flush) continue;
      for (const ProcessSample& sample : tree.scan(mono_now())) writer_.add(sample);
      children.look(tree);
      flush();
      watcher_.tell(begin);
      next_flush = mono_now() + flush_period;
    }
  }

  Duration unseen() const { return unseen_; }
  const std::vector<ShortLivedSum>& short_lived() const { return short_lived_; }
  // All before this is in the file. A disk that has room again loses nothing: then it moves on once more.
  MonoTime in_file_until() const { return in_file_until_; }

 private:
  ChildEnd note_end(ProcessTree& tree, ShortChildren& children, const ChildEnd& end) {
    children.finish(tree);
    short_lived_ = children.by_name();
    const ProcessTree::End last = tree.end(end.time, end.own_cpu, end.tree_cpu);
    for (const ProcessSample& sample : last.samples) writer_.add(sample);
    unseen_ = last.unseen;
    for (const Mark& mark : marks_.finish()) writer_.add(mark);
    return end;
  }

  Duration pause() const { return marks_.has_rings() ? marks_period : quiet_period; }

  void flush() {
    const MonoTime now = mono_now();
    if (writer_.flush()) in_file_until_ = now;
  }

  RecordingWriter& writer_;
  MarkReader& marks_;
  Watcher& watcher_;
  MonoTime in_file_until_;
  Duration unseen_;
  std::vector<ShortLivedSum> short_lived_;
};

// Moves a recording that its disk has no room for to the temporary folder; gives its new path.
Result<std::string> rescue(RecordingWriter& writer, const std::string& recording) {
  const auto folder = make_passing_folder();
  if (!folder) return folder;
  const std::string path = *folder + "/" + std::filesystem::path(recording).filename().string();
  const auto moved = writer.rescue(path);
  if (moved) {
    (void)writer.close();  // all is in the file: an unfolded log beside it loses nothing
    return path;
  }
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  return std::unexpected(moved.error());
}

// Closes the recording, here or elsewhere; tells where it is, and what went wrong.
void finish(RecordingWriter& writer, Duration in_file, MeasurementEnd& end) {
  const auto closed = writer.close();
  if (closed) return;
  const auto rescued = rescue(writer, end.recording);
  end.error = closed.error();
  end.error->where = end.recording;
  if (rescued) {
    end.error->hint = fmt::format("the whole recording is in {} instead", *rescued);
    end.recording = *rescued;
  } else {
    end.error->hint = fmt::format("the recording is incomplete from {:.1f} s after the start on, and could not be kept elsewhere: {}: {}",
                                  to_seconds(in_file), rescued.error().what, rescued.error().where);
  }
}

MeasurementEnd never_ran(Error error, int code, const std::string& recording) {
  if (!recording.empty())
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((recording + suffix).c_str());
  return {code, false, false, std::move(error)};
}

}  // namespace

std::vector<RecordedDevice> recorded_devices(const std::vector<Device>& devices, const Sampler& sampler) {
  std::vector<RecordedDevice> all;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto channels = devices[i].meter->channels();
    all.push_back({devices[i].kind, devices[i].name, sampler.interval_of(i), {channels.begin(), channels.end()}});
  }
  return all;
}

MeasurementEnd measure(const MeasurementPlan& plan, std::vector<Device>& devices, const SignalGate& gate, const Progress& progress) {
  auto rings = RingDirectory::make();
  if (!rings) return never_ran(rings.error(), exit_own_failure, "");
  Recorder<RecordingWriter> recorder(devices);
  Sampler sampler(devices, plan.interval, recorder);
  auto writer = RecordingWriter::create(plan.recording, recorded_devices(devices, sampler), to_metadata(plan.facts));
  if (!writer) return never_ran(writer.error(), exit_own_failure, "");
  recorder.writer = writer->get();
  auto teller = EnergyTeller::make(rings->path());  // without it a program is told nothing, and runs all the same
  Watcher watcher(plan, recorded_devices(devices, sampler), progress, teller ? &*teller : nullptr);
  recorder.live = &watcher.window();
  (*writer)->add(ClockMap::now());
  sampler.start();
  note_remarks(**writer, devices);
  RunFacts facts = plan.facts;
  if (plan.baseline > Duration{}) {
    const MonoTime begin = mono_now();
    if (const auto end = gate.next_request_to_end(begin + plan.baseline)) {
      sampler.stop();
      writer->reset();
      MeasurementEnd stopped =
          never_ran({ErrorCode::usage, "interrupted before the command ran", "", ""}, 128 + end->number, plan.recording);
      stopped.interrupted = true;
      return stopped;
    }
    facts.baseline = Interval{begin, mono_now()};
  }
  MarkReader marks(rings->path());
  const std::string ring = rings->environment();
  const auto equals = ring.find('=');
  auto environment = plan.environment;
  environment.emplace_back(ring.substr(0, equals), ring.substr(equals + 1));
  const MonoTime begin = mono_now();
  auto child = Child::start({plan.command, std::move(environment)}, gate);
  if (!child) {
    sampler.stop();
    writer->reset();
    return never_ran(child.error(), exit_code_of_start_failure(child.error()), plan.recording);
  }
  facts.run = Interval{begin, begin};
  for (const auto& [name, json] : to_metadata(facts)) (*writer)->set(name, json);
  Attendance attendance(**writer, marks, watcher);
  const auto end = attendance.attend(*child, begin);
  sampler.stop();
  for (std::string& flag : recorder.finish()) facts.notes.push_back(std::move(flag));
  (*writer)->add(ClockMap::now());
  MeasurementEnd result{exit_own_failure, true, false, std::nullopt, plan.recording};
  if (end) {
    facts.run->end = end->time;
    facts.run_ended = true;
    facts.exit_code = result.exit_code = end->exit_code;
  } else {
    result.error = end.error();
  }
  facts.wall_clock_error = wall_clock_error();
  if (plan.at_end) plan.at_end(facts);
  facts.unseen_cpu = attendance.unseen();
  facts.short_lived = attendance.short_lived();
  facts.marks_lost = marks.lost();
  if (marks.unheard_processes() > 0) facts.notes.push_back(fmt::format("marks-unheard: {} processes", marks.unheard_processes()));
  for (const Error& problem : marks.problems()) facts.notes.push_back("marks-unreadable: " + problem.line());
  for (const auto& [name, json] : to_metadata(facts)) (*writer)->set(name, json);
  finish(**writer, attendance.in_file_until() - begin, result);
  return result;
}

}  // namespace joulery
