#include "publish/html_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/component.h"
#include "core/units.h"
#include "publish/html_text.h"
#include "publish/numbers.h"

namespace joulery {
namespace {

constexpr double view_width = 1000, plot_height = 300, lines_height = 120;

// Seconds on an axis of the given length: "0.25 s", "40 s", "2:05", "1:02:05".
std::string clock_text(double value, double length) {
  if (length < 10) return compact(value) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(value));
  if (length < 120) return fmt::format("{} s", whole);
  if (length < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
}

// Time ticks at 1, 2, 5, 10 s ... and beyond a minute at parts of a clock.
std::vector<double> time_ticks(double length) {
  if (length < 60) return ticks_to(length, 6);
  for (const double step : {10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400})
    if (length / step <= 8) {
      std::vector<double> ticks;
      for (int i = 0; i * step <= length; ++i) ticks.push_back(i * step);
      return ticks;
    }
  return ticks_to(length, 6);
}

class Scale {
 public:
  Scale(const Picture& p, double top, double height) : begin_(p.begin_s()), length_(p.length_s()), top_(top), height_(height) {}
  double x(double s) const { return std::clamp((s - begin_) / length_, 0.0, 1.0) * view_width; }
  double y(double watts_value) const { return height_ * (1 - std::clamp(watts_value / top_, 0.0, 1.0)); }

 private:
  double begin_, length_, top_, height_;
};

struct Edge {
  double low, high;
};

// One area for each stretch of slots in which the layer is known; stairs, for a slot's value is its mean.
std::string area_path(const Picture& p, const std::vector<Edge>& edges, const Scale& scale) {
  std::string d;
  for (std::size_t i = 0; i < p.slots();) {
    if (!std::isfinite(edges[i].high)) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    d += fmt::format("M{:.1f} {:.1f}", scale.x(p.edges[i]), scale.y(edges[i].high));
    for (; i < p.slots() && std::isfinite(edges[i].high); ++i)
      d += fmt::format("V{:.1f}H{:.1f}", scale.y(edges[i].high), scale.x(p.edges[i + 1]));
    for (std::size_t j = i; j-- > first;) d += fmt::format("V{:.1f}H{:.1f}", scale.y(edges[j].low), scale.x(p.edges[j]));
    d += "Z";
  }
  return d;
}

std::string line_path(const Picture& p, const PictureTrack& track, const Scale& scale) {
  std::string d;
  bool open = false;
  for (std::size_t i = 0; i < p.slots(); ++i) {
    if (!std::isfinite(track.watts[i])) {
      open = false;
      continue;
    }
    d += fmt::format("{}{:.1f} {:.1f}H{:.1f}", open ? "L" : "M", scale.x(p.edges[i]), scale.y(track.watts[i]), scale.x(p.edges[i + 1]));
    open = true;
  }
  return d;
}

bool is_hatched(Quality quality) { return quality == Quality::estimated || quality == Quality::missing; }

std::vector<std::string> classes_of(const std::vector<PictureTrack>& tracks) {
  std::map<std::string, int, std::less<>> seen;
  std::vector<std::string> classes;
  for (const PictureTrack& track : tracks) {
    const std::string kind(kind_of(track.path));
    classes.push_back(fmt::format("{} s{}", kind, seen[kind]++ % 4));
  }
  return classes;
}

std::string layers_svg(const Picture& p, const Scale& scale) {
  std::string out;
  std::vector<double> base(p.slots(), 0.0);
  const std::vector<std::string> classes = classes_of(p.layers);
  for (std::size_t l = 0; l < p.layers.size(); ++l) {
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < p.slots(); ++i) {
      const double w = p.layers[l].watts[i];
      edges.push_back({base[i], std::isfinite(w) ? base[i] + std::max(0.0, w) : w});
      if (std::isfinite(w)) base[i] += std::max(0.0, w);
    }
    const std::string d = area_path(p, edges, scale);
    out += fmt::format("<path class=\"area {}\" d=\"{}\"/>\n", classes[l], d);
    if (is_hatched(p.layers[l].quality)) out += fmt::format("<path fill=\"url(#hatch)\" d=\"{}\"/>\n", d);
  }
  return out;
}

std::string grid_svg(double top, const Scale& scale, int wanted) {
  std::string out;
  for (const double tick : ticks_to(top, wanted))
    out += fmt::format("<path class=\"grid\" d=\"M0 {0:.1f}H{1}\"/>", scale.y(tick), view_width);
  return out + "\n";
}

std::string gaps_svg(const Picture& p, const Scale& scale, double height) {
  std::string out;
  for (const PictureGap& gap : p.gaps)
    out += fmt::format(
        "<rect class=\"gap\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\"><title>no reading, {} to {}: {}</title></rect>\n",
        scale.x(gap.begin_s), std::max(1.0, scale.x(gap.end_s) - scale.x(gap.begin_s)), height, clock_text(gap.begin_s, p.length_s()),
        clock_text(gap.end_s, p.length_s()), html_text(gap.names));
  return out;
}

std::string y_labels(double top, int wanted) {
  std::string out = "<div class=\"y\" aria-hidden=\"true\">";
  for (const double tick : ticks_to(top, wanted))
    out += fmt::format("<span style=\"bottom:{:.2f}%\">{}</span>", tick / top * 100, tick == 0 ? "0" : compact(tick) + " W");
  return out + "</div>\n";
}

std::string x_labels(const Picture& p) {
  std::string out = "<div class=\"x\" aria-hidden=\"true\">";
  for (const double tick : time_ticks(p.length_s()))
    out += fmt::format("<span{} style=\"left:{:.2f}%\">{}</span>", tick > p.length_s() * 0.97 ? " class=\"last\"" : "",
                       tick / p.length_s() * 100, clock_text(tick, p.length_s()));
  return out + "</div>\n";
}

// A strip of blocks under a name: phases and steps. Blocks take their place in percent.
std::string band_lane(const Picture& p, const std::vector<PictureBand>& bands, std::string_view css, std::string_view label, bool names) {
  if (bands.empty()) return {};
  std::string out = fmt::format(
      "<div class=\"lane-row\"><span class=\"lane-name\" aria-hidden=\"true\">{}</span>"
      "<div class=\"lane {}\" role=\"img\" aria-label=\"{}, listed in the tables below\">",
      css, css, html_text(label));
  const Scale scale(p, 1, 1);
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const double left = scale.x(bands[i].begin_s) / 10, width = std::max(0.0, scale.x(bands[i].end_s) / 10 - left);
    out += fmt::format("<span class=\"b{}\" style=\"left:{:.3f}%;width:{:.3f}%\" title=\"{}: {} to {}\">{}</span>", i % 3, left, width,
                       html_text(bands[i].name), clock_text(bands[i].begin_s, p.length_s()), clock_text(bands[i].end_s, p.length_s()),
                       names && width > 4 ? html_text(bands[i].name) : "");
  }
  return out + "</div></div>\n";
}

// The names of a few marks over the picture; many would hide each other and stand in the table alone.
std::string mark_names(const Picture& p) {
  if (p.marks.empty() || p.marks.size() > 12) return {};
  std::string out = "<div class=\"mark-names\" aria-hidden=\"true\">";
  for (const PictureBand& mark : p.marks) {
    const double left = (mark.begin_s - p.begin_s()) / p.length_s() * 100;
    out += fmt::format("<span{} style=\"left:{:.2f}%\">{}</span>", left > 80 ? " class=\"left\"" : "", left, html_text(mark.name));
  }
  return out + "</div>\n";
}

std::string legend(const Picture& p) {
  std::string out = "<ul class=\"legend\">";
  const std::vector<std::string> classes = classes_of(p.layers);
  for (std::size_t l = p.layers.size(); l-- > 0;)  // top of the stack first
    out += fmt::format("<li><i class=\"swatch {}{}\"></i>{} <small>{}</small></li>", classes[l],
                       is_hatched(p.layers[l].quality) ? " hatched" : "", html_text(p.layers[l].label), name_of(p.layers[l].quality));
  for (const std::string& label : p.missing)
    out += fmt::format("<li><i class=\"swatch absent\"></i>{} <small>missing</small></li>", html_text(label));
  if (!p.gaps.empty()) out += "<li><i class=\"swatch gapped\"></i>no reading</li>";
  return out + "</ul>\n";
}

std::string lines_plot(const Picture& p) {
  if (p.lines.empty()) return {};
  const Scale scale(p, p.lines_top_watts, lines_height);
  std::string legend_items, paths;
  const std::vector<std::string> classes = classes_of(p.lines);
  for (std::size_t l = 0; l < p.lines.size(); ++l) {
    paths += fmt::format("<path class=\"line {} d{}\" d=\"{}\"/>\n", classes[l], l % 3, line_path(p, p.lines[l], scale));
    legend_items += fmt::format(
        "<li><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path class=\"line {} d{}\" d=\"M0 4H24\"/></svg>{}</li>",
        classes[l], l % 3, html_text(p.lines[l].label));
  }
  return fmt::format(
      "<p class=\"apart\">Inside the above, shown apart and not added:</p>\n<div class=\"plot small\">{}"
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Power of parts inside the counted "
      "ones\">\n{}{}</svg></div>\n"
      "<ul class=\"legend\">{}</ul>\n",
      y_labels(p.lines_top_watts, 2), view_width, lines_height, grid_svg(p.lines_top_watts, scale, 2), paths, legend_items);
}

std::string number_cell(double value) {
  return std::isfinite(value) ? fmt::format("<td>{:.2f}</td>", value) : std::string("<td class=\"none\">missing</td>");
}

std::string power_table(const Picture& p) {
  std::string out =
      "<details><summary>The numbers of this picture</summary>\n<div class=\"scroll tall\"><table class=\"numbers\" id=\"power-table\">"
      "<caption>Mean power in watts over each interval, in seconds since the start</caption>\n<thead><tr><th scope=\"col\">from</th><th "
      "scope=\"col\">to</th>";
  for (const PictureTrack& t : p.layers) out += fmt::format("<th scope=\"col\">{}</th>", html_text(t.label));
  for (const PictureTrack& t : p.lines) out += fmt::format("<th scope=\"col\">{} <small>(apart)</small></th>", html_text(t.label));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < p.slots(); ++i) {
    out += fmt::format("<tr><th scope=\"row\">{:.3f}</th><td>{:.3f}</td>", p.edges[i], p.edges[i + 1]);
    for (const PictureTrack& t : p.layers) out += number_cell(t.watts[i]);
    for (const PictureTrack& t : p.lines) out += number_cell(t.watts[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></details>\n";
}

std::string bands_table(const std::vector<PictureBand>& bands, std::string_view title, std::string_view column) {
  if (bands.empty()) return {};
  std::string out = fmt::format(
      "<details><summary>{}</summary>\n<div class=\"scroll tall\"><table class=\"numbers\"><thead><tr><th scope=\"col\">{}</th>"
      "<th scope=\"col\">from, s</th><th scope=\"col\">to, s</th><th scope=\"col\">length, s</th></tr></thead>\n<tbody>\n",
      title, column);
  for (const PictureBand& b : bands)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td></tr>\n", html_text(b.name), b.begin_s,
                       b.end_s, b.end_s - b.begin_s);
  return out + "</tbody></table></div></details>\n";
}

std::string steps_title(const Picture& p) {
  if (p.steps.size() == static_cast<std::size_t>(p.steps_in_all)) return counted(p.steps_in_all, "step");
  return fmt::format("{}, drawn in {} groups", counted(p.steps_in_all, "step"), p.steps.size());
}

std::string gaps_table(const Picture& p) {
  if (p.gaps.empty()) return {};
  std::string out =
      "<details open><summary>" + counted(static_cast<std::int64_t>(p.gaps.size()), "gap") +
      " in the readings</summary>\n<div class=\"scroll tall\"><table class=\"numbers\"><thead><tr><th scope=\"col\">from, s</th>"
      "<th scope=\"col\">to, s</th><th scope=\"col\" class=\"words\">nothing known of</th></tr></thead>\n<tbody>\n";
  for (const PictureGap& g : p.gaps)
    out += fmt::format("<tr><th scope=\"row\">{:.3f}</th><td>{:.3f}</td><td class=\"words\">{}</td></tr>\n", g.begin_s, g.end_s,
                       html_text(g.names));
  return out + "</tbody></table></div></details>\n";
}

}  // namespace

std::string_view kind_of(std::string_view whole) {
  const Component component{std::string(whole)};
  const std::string_view path = whole.substr(whole.size() - component.local().size());  // a host may have any name
  struct Kind {
    std::string_view word, kind;
  };
  static constexpr Kind kinds[] = {{"rest", "rest"},   {"gpu", "gpu"}, {"dram", "dram"},
                                   {"memory", "dram"}, {"cpu", "cpu"}, {"package", "cpu"}};
  for (const std::string_view where : {path.substr(path.rfind('/') + 1), path})  // the leaf says more than the branch
    for (const Kind& k : kinds)
      if (where.find(k.word) != std::string_view::npos) return k.kind;
  return "other";
}

std::string power_figure(const Picture& p) {
  if (p.slots() == 0 || (p.layers.empty() && p.lines.empty())) return "<p class=\"empty\">No power over time: too few readings.</p>\n";
  const Scale scale(p, p.top_watts, plot_height);
  std::string out = "<figure>\n" + legend(p);
  out += fmt::format("<p class=\"apart\">Watts, mean over {} for each interval drawn.</p>\n<div class=\"chart\">\n",
                     to_text(seconds(p.length_s() / static_cast<double>(p.slots()))));
  out += band_lane(p, p.phases, "phases", "Phases", true);
  out += band_lane(p, p.steps, "steps", steps_title(p), false);
  out += mark_names(p);
  out += fmt::format(
      "<div class=\"plot\" id=\"power\">{}<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"Power over time, stacked by component; the numbers are in the table below\">\n",
      y_labels(p.top_watts, 5), view_width, plot_height);
  out +=
      "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
      "<path class=\"hatch\" d=\"M0 0V7\"/></pattern></defs>\n";
  out += grid_svg(p.top_watts, scale, 5) + layers_svg(p, scale) + gaps_svg(p, scale, plot_height);
  for (const PictureBand& mark : p.marks)
    out += fmt::format("<path class=\"mark\" d=\"M{:.1f} 0V{}\"><title>{}</title></path>\n", scale.x(mark.begin_s), plot_height,
                       html_text(mark.name));
  out += "</svg><div class=\"cursor\" hidden></div><div class=\"tip\" hidden></div></div>\n" + x_labels(p) + lines_plot(p) +
         "</div>\n</figure>\n";
  return out + gaps_table(p) + power_table(p) + bands_table(p.steps, steps_title(p), "step") + bands_table(p.marks, "Marks", "mark");
}

}  // namespace joulery
