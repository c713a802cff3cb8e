#include "publish/flame_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "core/units.h"
#include "publish/html_style.h"
#include "publish/html_text.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr double width = 1200, row = 18, letter = 6.6;  // of a 11 px monospaced font, a little too wide rather than too narrow
constexpr std::size_t most_rows = 400;                  // of the table
constexpr int longest_name = 120;                       // in it; the whole name shows where the pointer rests

// Fills on which black text is read well; brightness varies with the name, so that neighbours stay apart.
std::string fill_of(FrameKind kind, std::string_view name) {
  struct Hue {
    int hue, saturation;
  };
  constexpr Hue hues[] = {{45, 12}, {48, 85}, {26, 85}, {208, 55}, {158, 45}, {280, 35}};
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  const Hue h = hues[static_cast<unsigned>(kind)];
  return fmt::format("hsl({},{}%,{}%)", h.hue + static_cast<int>(hash % 13) - 6, h.saturation, 66 + static_cast<int>((hash >> 8) % 13));
}

double size_of(const Flame& flame, const FlameFrame& frame) { return flame.has_energy ? to_joules(frame.energy) : frame.weight; }

std::string weighed(const Flame& flame, double weight) {
  return flame.unit == "s" ? to_text(seconds(weight)) : grouped(to_whole(weight)) + " " + flame.unit;
}

std::string amount(const Flame& flame, Energy energy, double weight) {
  return flame.has_energy ? to_text(energy) + ", " + weighed(flame, weight) : weighed(flame, weight);
}

struct Drawing {
  const Flame& flame;
  double scale;         // units of the picture per joule or weight
  int depth = 0;        // rows
  std::size_t small = 0;
  std::string frames;   // SVG, y counted from below as rows
};

void depth_of(const Drawing& drawing, const FlameFrame& frame, int depth, int& deepest) {
  deepest = std::max(deepest, depth);
  for (const auto& [name, child] : frame.children)
    if (size_of(drawing.flame, child) * drawing.scale >= 0.5) depth_of(drawing, child, depth + 1, deepest);
}

void draw(Drawing& d, std::string_view name, const FlameFrame& frame, double x, int depth) {
  const double wide = size_of(d.flame, frame) * d.scale;
  if (wide < 0.5) {
    ++d.small;
    return;
  }
  const double whole = size_of(d.flame, d.flame.root), y = (d.depth - 1 - depth) * row;
  const int letters = static_cast<int>((wide - 6) / letter);
  const std::string plain = printable(name);
  d.frames += fmt::format(
      "<g class=\"f\" data-x=\"{:.3f}\" data-w=\"{:.3f}\" data-d=\"{}\"><title>{}\n{} ({}), by itself {}</title>"
      "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" rx=\"1\" fill=\"{}\"/><text x=\"{:.2f}\" "
      "y=\"{:.0f}\">{}</text></g>\n",
      x, wide, depth, html_text(plain), amount(d.flame, frame.energy, frame.weight),
      percent(whole > 0 ? size_of(d.flame, frame) / whole : 0), amount(d.flame, frame.self, frame.self_weight), x, y,
      std::max(0.3, wide - 0.4), row - 1, fill_of(frame.kind, name), x + 3, y + 13, letters >= 3 ? html_text(clipped(plain, letters)) : "");
  double at = x;
  for (const auto& [child_name, child] : frame.children) {
    draw(d, child_name, child, at, depth + 1);
    at += size_of(d.flame, child) * d.scale;
  }
}

constexpr std::string_view picture_style = R"css(
.flame{width:100%;height:auto;display:block;background:var(--fbg,#fff)}
.flame text{font:11px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#111;pointer-events:none}
.flame .f{cursor:pointer}.flame .f:hover rect,.flame .f:focus rect{stroke:#111;stroke-width:1.2}
.flame .hit rect{fill:#e23fd0}.flame .past{opacity:.45}
)css";

// Zoom: every frame's place is data, so a zoom is one linear map of them. The same script serves the SVG file and the page.
constexpr std::string_view picture_script = R"js(
(function(){
var root=document.querySelector('svg.flame')||document.documentElement,all=[].slice.call(root.querySelectorAll('.f')),W=1200,L=6.6;
var names=all.map(function(g){return g.querySelector('title').textContent.split('\n')[0]});
function put(g,x,w,name){var r=g.querySelector('rect'),t=g.querySelector('text'),n=Math.floor((w-6)/L);
r.setAttribute('x',x.toFixed(2));r.setAttribute('width',Math.max(.3,w-.4).toFixed(2));t.setAttribute('x',(x+3).toFixed(2));
t.textContent=n<3?'':name.length<=n?name:name.slice(0,n-1)+'…'}
function zoom(to){var X=+to.dataset.x,w=+to.dataset.w,D=+to.dataset.d,k=W/w;
all.forEach(function(g,i){var x=+g.dataset.x,v=+g.dataset.w,d=+g.dataset.d,inside=d>=D?(x>=X-.01&&x+v<=X+w+.01):(x<=X+.01&&x+v>=X+w-.01);
g.style.display=inside?'':'none';g.classList.toggle('past',inside&&d<D);
if(inside){if(d<D)put(g,0,W,names[i]);else put(g,(x-X)*k,v*k,names[i])}})}
all.forEach(function(g){g.setAttribute('tabindex','0');g.addEventListener('click',function(){zoom(g)});
g.addEventListener('keydown',function(e){if(e.key==='Enter')zoom(g);if(e.key==='Escape')zoom(all[0])})});
var field=document.getElementById('search'),told=document.getElementById('found');
function search(){var q=field.value.toLowerCase(),sum=0,until={};
all.forEach(function(g,i){var hit=q!==''&&names[i].toLowerCase().indexOf(q)>=0;g.classList.toggle('hit',hit);
if(hit){var x=+g.dataset.x;if(!(x<until.e-.001)){sum+=+g.dataset.w;until.e=x+ +g.dataset.w}}});
[].forEach.call(document.querySelectorAll('tbody tr'),function(r){r.hidden=q!==''&&r.cells[0].firstChild.title.toLowerCase().indexOf(q)<0});
told.textContent=q===''?'':(100*sum/W).toFixed(1)+' % of the whole'}
if(field)field.addEventListener('input',search);
})();
)js";

Drawing drawn(const Flame& flame) {
  const double whole = size_of(flame, flame.root);
  Drawing d{flame, whole > 0 ? width / whole : 0, 0, 0, {}};
  int deepest = 0;
  depth_of(d, flame.root, 0, deepest);
  d.depth = deepest + 1;
  draw(d, "all", flame.root, 0, 0);
  return d;
}

std::string svg_element(const Flame& flame, const Drawing& d, std::string_view more) {
  return fmt::format(
      "<svg class=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n{}{}</svg>\n",
      width, std::max(1, d.depth) * row, html_text("Flame graph of " + printable(flame.title)), more, d.frames);
}

// A weight, where energy is what the picture shows; else nothing.
std::string beside(const Flame& flame, double weight) { return flame.has_energy ? html_text(weighed(flame, weight)) : ""; }

std::string table(const Flame& flame) {
  const std::vector<FlameFunction> functions = flame.functions();
  std::string rows;
  const double whole = size_of(flame, flame.root);
  const auto cells = [&](Energy energy, double weight) {
    const double size = flame.has_energy ? to_joules(energy) : weight;
    return fmt::format("<td>{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td>",
                       html_text(flame.has_energy ? to_text(energy) : weighed(flame, weight)), percent(whole > 0 ? size / whole : 0),
                       beside(flame, weight));
  };
  for (const FlameFunction& f : functions | std::views::take(most_rows)) {
    const std::string name = printable(f.name);
    rows +=
        fmt::format("<tr><th scope=\"row\"><code title=\"{}\">{}</code></th><td class=\"kind wide\">{}</td>{}{}</tr>\n", html_text(name),
                    html_text(clipped(name, longest_name)), name_of(f.kind), cells(f.self, f.self_weight), cells(f.energy, f.weight));
  }
  const std::string more =
      functions.size() > most_rows ? fmt::format(" The {} that burn the most of {}.", most_rows, functions.size()) : "";
  return fmt::format(
      "<div class=\"scroll\"><table class=\"fold\"><caption>By function, over all stacks: what each burns by itself, and with what it "
      "calls.{}</caption><thead><tr><th>function</th><th class=\"kind\">kind</th><th colspan=\"3\">by itself</th><th colspan=\"3\">with "
      "what it "
      "calls</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      more, rows);
}

}  // namespace

std::string flame_svg(const Flame& flame) {
  const Drawing d = drawn(flame);
  // The script stands behind the frames, for it looks for them at once. It holds '<' and '&'.
  std::string svg = svg_element(flame, d, fmt::format("<style>{}</style>\n", picture_style));
  svg.insert(svg.rfind("</svg>"), fmt::format("<script><![CDATA[{}]]></script>\n", picture_script));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg;
}

std::string flame_html(const Flame& flame) {
  const Drawing d = drawn(flame);
  std::string notes;
  for (const std::string& note : flame.notes) notes += fmt::format("<li>{}</li>\n", html_text(printable(note)));
  if (d.small > 0)
    notes += fmt::format("<li>{} narrower than half a pixel left out of the picture</li>\n",
                         counted(static_cast<std::int64_t>(d.small), "frame"));
  const std::string title = html_text(printable(flame.title));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">"
      "<title>Flame graph: {}</title><style>{}{}body{{max-width:1280px}}input{{font:inherit;padding:4px 8px;width:16em;max-width:70%}}"
      ".kind{{text-align:left}}figure{{overflow-x:auto}}figure .flame{{min-width:900px}}"
      "@media print{{.find{{display:none}}.flame .f rect{{stroke:#fff;stroke-width:.3}}}}</style></head><body>\n"
      "<header><div class=\"brand\">joulery</div><h1><code>{}</code></h1></header>\n<p class=\"total\"><strong>{}</strong></p>\n"
      "<p class=\"find\"><label>Search <input id=\"search\" type=\"search\"></label> <span id=\"found\" role=\"status\"></span> "
      "<small>Click on a frame to zoom, on the lowest to go back.</small></p>\n<figure>{}</figure>\n<ul class=\"notes\">{}</ul>\n{}"
      "<script>{}</script></body></html>\n",
      title, html_style(), picture_style, title, html_text(amount(flame, flame.root.energy, flame.root.weight)), svg_element(flame, d, ""),
      notes, table(flame), picture_script);
}

}  // namespace joulery
