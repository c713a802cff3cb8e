// What a report has to say in sentences: how the total is known, what is not in it, gaps, flags, factors. Text, Markdown
// and HTML tell these alike. Invariant: a partial total is never told without what it lacks.
#pragma once

#include <string>
#include <vector>

#include "judge/report.h"

namespace joulery {

// A sentence at the end of a report; a warning changes how far the figures can be trusted.
struct Note {
  bool warning = false;
  std::string text;
};

// Warnings first: what is not counted, gaps, missed rounds, lost marks, flags; then why rows are estimated.
std::vector<Note> notes(const Report& report);

// "12.3 kJ (3.42 Wh)", "at least 12.3 kJ (3.42 Wh)" where partial, "missing".
std::string headline(const Report& report);

// "90 % between 11.9 kJ and 12.7 kJ"; "" where the energy is missing.
std::string interval_words(const Report& report);

// "measured" or, where rows differ, "measured 83.0 %, estimated 17.0 %" of the counted joules.
std::string known_words(const Report& report);

// "python train.py 'a b'": quoted as a shell would need it, control characters visible.
std::string command_words(const std::vector<std::string>& command);

// "exit 0", "exit 137 (SIGKILL)", "did not finish".
std::string exit_words(const Report& report);

std::string baseline_words(const ReportBaseline& baseline, const ReportEnergy& energy);
std::string power_limit_label(const ReportPowerLimit& limit);  // "node/cpu/package-0:short_term"
std::string power_limit_words(const ReportPowerLimit& limit);
std::string carbon_words(const ReportCarbon& carbon);
std::string cost_words(const ReportCost& cost);
std::string steps_words(const ReportSteps& steps);
std::string work_words(const ReportWork& work);   // "76,800 samples: 0.160 J/sample, 6.24 samples/J"
std::string rate_words(
    const ReportWork& work);   // "0.0000444 kWh per 1000 samples; 614 samples/s, 6.24 samples/s per watt"; "" where unknown
std::string kpi_words(const ReportKpi& kpi);
std::string gain_words(const ReportKpi& kpi);  // "accuracy from 0.5 to 0.93: 281 J for each point (0.01)", or why that is not known
// "4711 python"; the name alone where the line is no process (pid 0). Not escaped.
std::string process_words(const ReportProcess& process);

}  // namespace joulery
