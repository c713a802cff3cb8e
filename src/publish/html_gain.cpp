#include "publish/html_gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "publish/html_text.h"
#include "publish/numbers.h"
#include "publish/phrases.h"

namespace joulery {
namespace {

constexpr double view_width = 1000, view_height = 220;

// Energy on the x axis where it is known, else time.
struct Axes {
  bool energy = true;
  double right = 0, low = 0, high = 0;
  double x_of(const ReportKpiPoint& p) const { return energy ? *p.joules : p.time_s; }
  double x(const ReportKpiPoint& p) const { return right > 0 ? x_of(p) / right * view_width : 0; }
  double y(double value) const { return high > low ? view_height * (1 - (value - low) / (high - low)) : view_height / 2; }
};

Axes axes_of(const ReportKpi& kpi) {
  Axes axes;
  axes.energy = std::ranges::all_of(kpi.points, [](const ReportKpiPoint& p) { return p.joules.has_value(); });
  axes.low = axes.high = kpi.points.front().value;
  for (const ReportKpiPoint& p : kpi.points) {
    axes.right = std::max(axes.right, axes.x_of(p));
    axes.low = std::min(axes.low, p.value);
    axes.high = std::max(axes.high, p.value);
  }
  return axes;
}

std::string x_words(const Axes& axes, double value) { return axes.energy ? to_text(joules(value)) : to_text(seconds(value)); }

std::string curve(const ReportKpi& kpi, const Axes& axes) {
  std::string line, dots;
  for (const ReportKpiPoint& p : kpi.points) {
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", axes.x(p), axes.y(p.value));
    if (kpi.points.size() <= 60)
      dots += fmt::format("<path class=\"dot\" d=\"M{0:.1f} {1:.1f}h.01\"><title>{2:.6g} after {3}</title></path>", axes.x(p),
                          axes.y(p.value), p.value, x_words(axes, axes.x_of(p)));
  }
  return fmt::format("<path class=\"line gpu s0\" d=\"{}\"/>\n{}", line, dots);
}

std::string picture(const ReportKpi& kpi) {
  const Axes axes = axes_of(kpi);
  std::string out = fmt::format("<figure>\n<p class=\"apart\">{} against the {} until then.</p>\n<div class=\"chart\">\n",
                                html_text(kpi.name), axes.energy ? "energy used" : "time");
  out += fmt::format(
      "<div class=\"plot gain\"><div class=\"y\" aria-hidden=\"true\"><span style=\"bottom:0%\">{:.4g}</span><span "
      "style=\"bottom:100%\">{:.4g}</span></div><svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{} "
      "against "
      "{}; the numbers are in the table below\">\n{}</svg></div>\n",
      axes.low, axes.high, view_width, view_height, html_text(kpi.name), axes.energy ? "energy" : "time", curve(kpi, axes));
  out += fmt::format(
      "<div class=\"x\" aria-hidden=\"true\"><span style=\"left:0%\">0</span><span class=\"last\" style=\"left:100%\">{}</span></div>\n",
      x_words(axes, axes.right));
  return out + "</div>\n</figure>\n";
}

std::string table(const ReportKpi& kpi) {
  std::string out = fmt::format(
      "<details><summary>The numbers of this picture</summary>\n<div class=\"scroll tall\"><table class=\"numbers\"><caption>{} as the "
      "program reported it</caption>\n<thead><tr><th scope=\"col\">after, s</th><th scope=\"col\">value</th><th scope=\"col\">energy until "
      "then, J</th></tr></thead>\n<tbody>\n",
      html_text(kpi.name));
  for (const ReportKpiPoint& p : kpi.points)
    out += fmt::format("<tr><th scope=\"row\">{:.3f}</th><td>{:.6g}</td>{}</tr>\n", p.time_s, p.value,
                       p.joules ? fmt::format("<td>{:.6f}</td>", *p.joules) : std::string("<td class=\"none\">missing</td>"));
  return out + "</tbody></table></div></details>\n";
}

}  // namespace

std::string gain_section(const Report& report) {
  std::string out;
  for (const ReportKpi& kpi : report.kpis) {
    if (kpi.points.size() < 2 || !std::ranges::all_of(kpi.points, [](const auto& p) { return std::isfinite(p.value); })) continue;
    out += fmt::format("<p>{}</p>\n", html_text(gain_words(kpi))) + picture(kpi) + table(kpi);
  }
  return out.empty() ? out : "<h2>What the energy bought</h2>\n" + out;
}

}  // namespace joulery
