#include "publish/html_style.h"

namespace joulery {

// Hues are those of Okabe and Ito's palette, told apart by people with any kind of colour blindness; layers are
// divided by a line of the background's colour besides, so that neighbours of one hue stay apart.
std::string_view html_style() {
  return R"css(
:root{color-scheme:light dark;--bg:#fff;--panel:#f5f6f8;--ink:#16191d;--soft:#5a626d;--line:#dde1e6;--grid:#e6e9ed;
--gpu:#0072b2;--cpu:#e69f00;--dram:#009e73;--rest:#8b93a0;--other:#cc79a7;--warn:#a33b00;--warnbg:#fff1e6;--good:#00704f;--band:#cfe3f2;--band2:#e3ecd2;--band3:#f3e3cc}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--panel:#1d2127;--ink:#e9ecf0;--soft:#a2abb7;--line:#333a43;--grid:#2a3038;
--gpu:#3d9fdb;--cpu:#e8ab2a;--dram:#22b58b;--rest:#8a929e;--other:#d993ba;--warn:#ffb07a;--warnbg:#33241a;--good:#4cc79f;--band:#24455e;--band2:#3b4a26;--band3:#56431f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1040px;padding:24px 20px 60px;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;-webkit-text-size-adjust:100%}
header{border-bottom:1px solid var(--line);padding-bottom:14px}
.brand{font-weight:700;color:var(--gpu);letter-spacing:.02em}
h1{font-size:1rem;font-weight:400;margin:4px 0 2px}
code{font:.95em ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.meta{color:var(--soft);margin:0;font-size:.9rem}
.exit{font-weight:600}.exit.ok{color:var(--good)}.exit.bad{color:var(--warn)}
.total{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 18px;margin:22px 0 6px}
.total strong{font-size:clamp(2.2rem,8vw,3.4rem);line-height:1.1;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.total strong.unknown{font-size:1.5rem;color:var(--warn);letter-spacing:0}
.total span{color:var(--soft)}
.total .atleast{color:var(--warn);font-weight:600}
h2{font-size:1.15rem;margin:38px 0 10px}
dl.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:10px;margin:18px 0 0}
dl.cards div{background:var(--panel);border-radius:8px;padding:10px 14px}
dt{color:var(--soft);font-size:.82rem}
dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums}
dd small+small{margin-top:1px}dd small{display:block;font-weight:400;color:var(--soft);font-size:.82rem;line-height:1.35}
.notes{list-style:none;margin:18px 0 0;padding:0}
.notes li{padding:7px 12px;border-left:3px solid var(--line);margin-bottom:4px;color:var(--soft);overflow-wrap:anywhere}
.notes li.warning{border-color:var(--warn);background:var(--warnbg);color:var(--ink)}
figure{margin:0}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 8px;padding:0;font-size:.9rem}
.legend small,th small{color:var(--soft);font-weight:400}
.swatch{display:inline-block;width:13px;height:13px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.gpu{--c:var(--gpu)}.cpu{--c:var(--cpu)}.dram{--c:var(--dram)}.rest{--c:var(--rest)}.other{--c:var(--other)}
.s0{--o:1}.s1{--o:.72}.s2{--o:.5}.s3{--o:.86}
.swatch,.seg{background:var(--c);opacity:var(--o)}
.hatched{background:repeating-linear-gradient(135deg,var(--c) 0 3px,var(--bg) 3px 5px)}
.swatch.absent{background:none;border:1.5px dashed var(--soft);opacity:1}
.swatch.gapped{background:repeating-linear-gradient(90deg,var(--warn) 0 1px,transparent 1px 4px);border:1px solid var(--warn);opacity:1}
.apart{color:var(--soft);font-size:.85rem;margin:6px 0}
.chart{padding-left:54px}
.plot{position:relative;height:clamp(210px,34vw,330px)}
.plot.small{height:110px}
.plot svg{display:block;width:100%;height:100%;overflow:hidden}
.y span{position:absolute;right:100%;margin-right:8px;transform:translateY(50%);font-size:.78rem;color:var(--soft);white-space:nowrap;font-variant-numeric:tabular-nums}
.x{position:relative;height:22px;margin-top:4px}
.x span{position:absolute;transform:translateX(-50%);font-size:.78rem;color:var(--soft);white-space:nowrap;font-variant-numeric:tabular-nums}
.x span:first-child{transform:none}.x span.last{transform:translateX(-100%)}
.grid{stroke:var(--grid);fill:none;vector-effect:non-scaling-stroke}
.area{fill:var(--c);fill-opacity:var(--o);stroke:var(--bg);stroke-width:.8;vector-effect:non-scaling-stroke}
.hatch{stroke:var(--bg);stroke-width:3.2;fill:none}
.gap{fill:var(--warn);fill-opacity:.07;stroke:var(--warn);stroke-dasharray:2 3;vector-effect:non-scaling-stroke}
.mark{stroke:var(--ink);stroke-dasharray:4 3;fill:none;vector-effect:non-scaling-stroke}
.line{stroke:var(--c);stroke-width:1.5;fill:none;vector-effect:non-scaling-stroke}
.dot{stroke:var(--ink);stroke-width:7;stroke-linecap:round;fill:none;vector-effect:non-scaling-stroke}
.plot.gain{height:200px}.plot.gain svg{overflow:visible}
.d1{stroke-dasharray:6 3}.d2{stroke-dasharray:2 2}
.key{width:24px;height:8px;margin-right:6px}
.lane-row{position:relative}.lane-name{position:absolute;right:100%;margin-right:8px;font-size:.72rem;color:var(--soft);line-height:20px}
.lane-row:has(.lane.steps) .lane-name{line-height:9px}
.mark-names{position:relative;height:17px}.mark-names span{position:absolute;font-size:.72rem;color:var(--soft);white-space:nowrap;padding:0 3px}.mark-names .left{transform:translateX(-100%)}
.lane{position:relative;height:20px;margin-bottom:3px;background:var(--panel);border-radius:3px;overflow:hidden}
.lane span{position:absolute;top:0;bottom:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:.75rem;line-height:20px;padding:0;text-indent:4px}
.lane.steps{height:9px}.lane.steps span{border-right:1px solid var(--bg)}
.lane .b0{background:var(--band)}.lane .b1{background:var(--band2)}.lane .b2{background:var(--band3)}
.lane.steps .b0,.lane.steps .b1,.lane.steps .b2{background:var(--gpu);opacity:.75}.lane.steps .b1{opacity:.5}
.cursor{position:absolute;top:0;bottom:0;width:1px;background:var(--ink);pointer-events:none}
.tip{position:absolute;top:8px;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px;font-size:.8rem;pointer-events:none;box-shadow:0 2px 10px #0003;white-space:nowrap;z-index:2;font-variant-numeric:tabular-nums}
.stack{display:flex;height:26px;border-radius:5px;overflow:hidden;margin:6px 0 12px;background:var(--panel)}
.stack span{border-right:1px solid var(--bg);min-width:1px}
.scroll{overflow-x:auto}.scroll.tall{max-height:640px;overflow-y:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.92rem}
caption{text-align:left;color:var(--soft);font-size:.85rem;padding:6px 0}
th,td{padding:5px 12px 5px 0;text-align:right;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
th:first-child,td:first-child,.words,th.words{text-align:left}
td.words,th[scope=row]{white-space:normal;overflow-wrap:anywhere}
thead th{color:var(--soft);font-weight:600;font-size:.82rem;background:var(--bg)}
.tall thead th{position:sticky;top:0}
th[scope=row]{font-weight:500}
.numbers{width:auto;min-width:min(100%,420px)}.numbers th[scope=row]{font-weight:400;white-space:nowrap}.numbers td,.numbers th{padding-right:22px}
tr.overlap>*{color:var(--soft)}tr.overlap th{padding-left:18px}
tr.sum>*{font-weight:700;border-bottom:0;border-top:2px solid var(--line)}
.none{color:var(--warn)}
.q{display:inline-block;border-radius:9px;padding:0 8px;font-size:.8rem;border:1px solid var(--line)}
.q.measured,.q.integrated{border-color:var(--good);color:var(--good)}.q.estimated{border-style:dashed;color:var(--soft)}.q.missing{border-color:var(--warn);color:var(--warn)}
.bar{width:26%}.bar i{display:block;height:12px;margin-top:5px;border-radius:2px;background:var(--gpu);min-width:1px}
details{margin:10px 0}summary{cursor:pointer;color:var(--soft);font-size:.9rem}
.empty{color:var(--soft)}
footer{margin-top:46px;color:var(--soft);font-size:.82rem;border-top:1px solid var(--line);padding-top:10px}
@media(max-width:640px){body{padding:16px 12px 40px;font-size:14px}.chart{padding-left:44px}.x span:nth-child(even){display:none}.lane.phases span{text-indent:2px}
th,td{padding-right:9px}.bar{display:none}dl.cards{grid-template-columns:repeat(auto-fit,minmax(140px,1fr))}
table.fold,table.fold tbody,table.fold tr{display:block;width:100%}table.fold thead{display:none}table.fold caption{display:block}
table.fold tr{display:grid;grid-template-columns:1fr auto auto;gap:0 12px;padding:8px 0;border-bottom:1px solid var(--line)}
table.fold tr>*{border:0;padding:0}table.fold .words{grid-column:1/-1;color:var(--soft);font-size:.9em}table.fold .wide{display:none}
table.fold tr.sum{border-top:2px solid var(--line);border-bottom:0}}
@media print{body{max-width:none;padding:0;font-size:11px}.tip,.cursor{display:none}h2{break-after:avoid}figure,table.fold{break-inside:avoid}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";
}

std::string_view html_script() {
  return R"js(
(function(){
var plot=document.getElementById('power'),table=document.getElementById('power-table');
if(!plot||!table)return;
var rows=table.tBodies[0].rows,heads=table.tHead.rows[0].cells,tip=plot.querySelector('.tip'),cursor=plot.querySelector('.cursor');
var begin=parseFloat(rows[0].cells[0].textContent),end=parseFloat(rows[rows.length-1].cells[1].textContent);
function show(e){
  var box=plot.getBoundingClientRect(),part=Math.min(1,Math.max(0,(e.clientX-box.left)/box.width)),t=begin+part*(end-begin),low=0,high=rows.length-1;
  while(low<high){var mid=(low+high)>>1;if(parseFloat(rows[mid].cells[1].textContent)<=t)low=mid+1;else high=mid}
  var cells=rows[low].cells;tip.textContent='';
  var add=function(text,bold){var d=document.createElement('div');d.textContent=text;if(bold)d.style.fontWeight=600;tip.appendChild(d)};
  add(cells[0].textContent+' to '+cells[1].textContent+' s',true);
  for(var i=cells.length-1;i>1;i--)add(heads[i].textContent+': '+cells[i].textContent+(isNaN(parseFloat(cells[i].textContent))?'':' W'));
  tip.hidden=cursor.hidden=false;cursor.style.left=part*100+'%';
  var flip=part>.6;tip.style.left=flip?'auto':'calc('+part*100+'% + 10px)';tip.style.right=flip?'calc('+(1-part)*100+'% + 10px)':'auto';
}
plot.addEventListener('pointermove',show);plot.addEventListener('pointerdown',show);
plot.addEventListener('pointerleave',function(){tip.hidden=cursor.hidden=true});
})();
)js";
}

}  // namespace joulery
