// The layers from the wall to the workloads, in words and as JSON; text, Markdown and HTML tell them alike.
// Invariant: in every output the parts and the residual of a layer sum to its whole; a negative residual keeps its sign.
#pragma once

#include <string>

#include "judge/report.h"
#include "publish/json_writer.h"

namespace joulery {

// True where a meter or a model tells a whole, so that layers say more than the list of components.
bool tells_layers(const Report& report);

// True of the rows of the wall and its feeds, which contain what is counted.
bool is_wall(const ReportComponent& component);

// How the layer is known or why it is missing, and its time where that is not the whole run of `duration_s`:
// "measured, hwmon; from 0 s to 58.3 s of the run". For a part, how it is known.
std::string layer_words(const ReportLayer& layer, double duration_s);
std::string part_words(const ReportLayerPart& part);
// "probably fans, board, storage, network"; what no process used has its names for certain.
std::string residual_words(const ReportLayer& layer);
// "wall, http-json: 1,700 ms (1,650 to 1,750 ms) after rapl.powercap, correlation 0.98".
std::string delay_words(const ReportDelay& delay);

// The keys "layers" and "meter_delays" of an open object.
void write_layers(JsonWriter& json, const Report& report);

// The object joulery.ledger/1, with its newline.
std::string ledger_json(const Report& report, int indent = 2);

}  // namespace joulery
