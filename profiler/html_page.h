// The fixed parts of the HTML report: style and script. Private to this room.
#ifndef PROA_PROFILER_HTML_PAGE_H_
#define PROA_PROFILER_HTML_PAGE_H_

namespace proa::inline v0::profiler {

inline constexpr char kReportStyle[] = R"css(
body{font:14px/1.4 system-ui,sans-serif;margin:1.5em;color:#222;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.6em 0 .4em}
canvas{width:100%;border:1px solid #ccc;display:block}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid #eee}
th:first-child,td:first-child{text-align:left}th{cursor:pointer;background:#f4f4f4}
#tip{position:fixed;background:#222;color:#fff;padding:.3em .6em;font-size:12px;
pointer-events:none;display:none;white-space:pre;max-width:60em;overflow:hidden}
.note{color:#666}
)css";

// Wheel: zoom; drag: move; double click: everything. Click on a column head:
// sort.
inline constexpr char kReportScript[] = R"js(//<![CDATA[
(function(){
"use strict";
var D=JSON.parse(document.getElementById("data").textContent);
var tip=document.getElementById("tip");
function color(s){var h=0;for(var i=0;i<s.length;i++)h=(h*31+s.charCodeAt(i))>>>0;
 return "hsl("+h%360+",55%,"+(62+h%17)+"%)";}
function time(ns){return ns>=1e9?(ns/1e9).toFixed(3)+" s":ns>=1e6?(ns/1e6).toFixed(3)+" ms":
 ns>=1e3?(ns/1e3).toFixed(2)+" us":ns+" ns";}
function bytes(b){var u=["B","KiB","MiB","GiB","TiB"],i=0;
 while(Math.abs(b)>=1024&&i<4){b/=1024;i++;}return b.toFixed(i?2:0)+" "+u[i];}
function show(e,text){if(!text){tip.style.display="none";return;}
 tip.textContent=text;tip.style.display="block";
 tip.style.left=Math.min(e.clientX+12,innerWidth-tip.offsetWidth-8)+"px";
 tip.style.top=(e.clientY+14)+"px";}
function prepare(id,height){var c=document.getElementById(id),r=window.devicePixelRatio||1;
 c.style.height=height+"px";c.width=c.clientWidth*r;c.height=height*r;
 var g=c.getContext("2d");g.setTransform(r,0,0,r,0,0);g.font="11px system-ui,sans-serif";
 return {c:c,g:g,w:c.clientWidth,h:height};}
function box(g,x,y,w,h,name,label){g.fillStyle=color(name);g.fillRect(x,y,Math.max(w,.5),h-1);
 if(w>30){g.save();g.beginPath();g.rect(x,y,w-2,h);g.clip();g.fillStyle="#222";
 g.fillText(label,Math.max(x,0)+3,y+12);g.restore();}}
function zoomable(v,draw){var drag=null;
 v.c.addEventListener("wheel",function(e){e.preventDefault();
  var f=e.deltaY>0?1.2:1/1.2,t=v.t0+(v.t1-v.t0)*e.offsetX/v.w;
  v.t0=t-(t-v.t0)*f;v.t1=t+(v.t1-t)*f;draw();},{passive:false});
 v.c.addEventListener("mousedown",function(e){drag={x:e.offsetX,t0:v.t0,t1:v.t1};});
 window.addEventListener("mouseup",function(){drag=null;});
 v.c.addEventListener("mousemove",function(e){if(drag){
  var d=(e.offsetX-drag.x)/v.w*(drag.t1-drag.t0);v.t0=drag.t0-d;v.t1=drag.t1-d;draw();}
  else show(e,v.hit?v.hit(e.offsetX,e.offsetY):null);});
 v.c.addEventListener("mouseleave",function(e){show(e,null);});
 v.c.addEventListener("dblclick",function(){v.t0=0;v.t1=v.end;draw();});}
// Timeline: rows of each thread by depth.
(function(){var H=16,rows=[],y=0,N=D.names,R=D.ranges;
 var depth=D.threads.map(function(){return 0;});
 R.forEach(function(r){depth[r[0]]=Math.max(depth[r[0]],r[1]+1);});
 D.threads.forEach(function(t,i){rows.push({y:y+H,name:t});y+=H*(depth[i]+1)+6;});
 if(!R.length){return;}
 var v=prepare("timeline",Math.max(y,40));v.t0=0;v.t1=v.end=D.duration;
 function x(t){return (t-v.t0)/(v.t1-v.t0)*v.w;}
 function draw(){var g=v.g;g.clearRect(0,0,v.w,v.h);
  rows.forEach(function(r){g.fillStyle="#000";g.fillText(r.name,3,r.y-4);});
  R.forEach(function(r){var a=x(r[2]),b=x(r[2]+r[3]);if(b<0||a>v.w)return;
   box(g,a,rows[r[0]].y+r[1]*H,b-a,H,N[r[4]],N[r[4]]);});}
 v.hit=function(px,py){var best=null;R.forEach(function(r){var top=rows[r[0]].y+r[1]*H;
  if(py>=top&&py<top+H&&px>=x(r[2])&&px<=x(r[2]+r[3])+1)best=r;});
  return best&&N[best[4]]+"\n"+time(best[3])+" at "+time(best[2]);};
 zoomable(v,draw);draw();})();
// Flame graph: width is total time.
(function(){var F=D.flame,H=16;if(!F.length)return;
 var at=[],level=[],most=0,next={},end=0;
 F.forEach(function(f,i){var root=f[0]===i;level[i]=root?0:level[f[0]]+1;
  at[i]=root?end:next[f[0]];next[i]=at[i];if(root)end+=f[2];else next[f[0]]+=f[2];
  most=Math.max(most,level[i]);});
 var v=prepare("flame",(most+1)*H+4);v.t0=0;v.t1=v.end=end||1;
 function x(t){return (t-v.t0)/(v.t1-v.t0)*v.w;}
 function draw(){v.g.clearRect(0,0,v.w,v.h);F.forEach(function(f,i){
  var a=x(at[i]),b=x(at[i]+f[2]);if(b<0||a>v.w||b-a<.2)return;
  box(v.g,a,level[i]*H,b-a,H,D.names[f[1]],D.names[f[1]]);});}
 v.hit=function(px,py){var l=Math.floor(py/H),t=null;F.forEach(function(f,i){
  if(level[i]===l&&px>=x(at[i])&&px<=x(at[i]+f[2]))
   t=D.names[f[1]]+"\n"+f[4]+" calls, total "+time(f[2])+", self "+time(f[3])+
    ", "+(100*f[2]/v.end).toFixed(1)+" %";});return t;};
 zoomable(v,draw);draw();})();
// Memory: steps.
D.memory.forEach(function(m,i){var P=m.points,v=prepare("memory"+i,120),most=1;
 P.forEach(function(p){most=Math.max(most,p[1]);});v.t0=0;v.t1=v.end=D.duration;
 function x(t){return (t-v.t0)/(v.t1-v.t0)*v.w;}
 function y(b){return v.h-4-(v.h-20)*b/most;}
 function draw(){var g=v.g;g.clearRect(0,0,v.w,v.h);g.beginPath();g.strokeStyle="#27c";
  P.forEach(function(p,k){if(k)g.lineTo(x(p[0]),y(P[k-1][1]));else g.moveTo(x(p[0]),y(p[1]));
   g.lineTo(x(p[0]),y(p[1]));});g.stroke();g.fillStyle="#000";
  g.fillText("peak "+bytes(most),3,11);}
 v.hit=function(px){var t=v.t0+(v.t1-v.t0)*px/v.w,b=null;
  P.forEach(function(p){if(p[0]<=t)b=p;});return b&&bytes(b[1])+" at "+time(Math.max(t,0));};
 zoomable(v,draw);draw();});
// Tables sort by what their cells hold.
document.querySelectorAll("th").forEach(function(th){th.addEventListener("click",function(){
 var body=th.closest("table").tBodies[0],k=th.cellIndex,rows=Array.from(body.rows);
 var down=th.dataset.down=th.dataset.down==="1"?"0":"1";
 rows.sort(function(a,b){var s=a.cells[k].textContent,t=b.cells[k].textContent,
  d=parseFloat(s)-parseFloat(t);if(isNaN(d))d=s<t?-1:s>t?1:0;return down==="1"?-d:d;});
 rows.forEach(function(r){body.appendChild(r);});});});
})();
//]]>)js";

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_HTML_PAGE_H_
