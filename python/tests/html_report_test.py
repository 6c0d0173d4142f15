"""The HTML report: well-formed, and alive in a browser."""

import html
import html.parser
import json
import os
import re
import shutil
import subprocess

import pytest

from proa import profiler
from python.tests.profiled import parse_xml, quiet, recorded, train


@pytest.fixture(scope="module")
def training():
    options = dict(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True)
    with profiler.Profiler(on_trace_ready=quiet, **options) as prof:
        train(2, prof)
    return prof.profiler_result


def test_html_report(training, tmp_path):
    path = tmp_path / "report.html"
    training.save(path, "html")
    page = parse_xml(path)
    ns = "{http://www.w3.org/1999/xhtml}"
    for element in page.iter():
        assert not {"src", "href", "action"} & set(element.attrib), element.tag
        assert element.tag.removeprefix(ns) not in ("link", "img", "iframe", "object")
    data = json.loads(next(e.text for e in page.iter(f"{ns}script") if e.get("id") == "data"))
    names = data["names"]
    ranges = [e for e in training.events() if e["kind"] == 0]
    assert sorted((names[r[4]], r[3]) for r in data["ranges"]) == sorted(
        (e["name"], e["end_ns"] - e["start_ns"]) for e in ranges
    )
    assert sum(f[3] for f in data["flame"]) == sum(f[2] for i, f in enumerate(data["flame"]) if f[0] == i)
    assert max(p[1] for p in data["memory"][0]["points"]) == training.memory_peaks()[0]["peak_bytes"]
    tables = {t.get("id"): t for t in page.iter(f"{ns}table")}
    cells = [[c.text or "" for c in row.iter(f"{ns}td")] for row in tables["layers"].iter(f"{ns}tr")]
    assert {row[0] for row in cells if row} == {"Net", "Net.hidden", "Net.out"}
    # As browsers read it, too: nothing of the names becomes a tag.
    tags = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(path.read_text())
    assert tags.count("script") == 2 and tags.count("canvas") == 3


# In a browser -----------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

# Before the page's own script: what goes wrong in it.
CATCH = """<script>var problems=[];window.onerror=function(m,s,l){problems.push(m+" at line "+l);};</script>"""
# After it: what a person would do, and what is to be seen then; written into the page as JSON.
ACT = """<script>window.addEventListener("load",function(){try{
 function ink(c){var d=c.getContext("2d").getImageData(0,0,c.width,c.height).data,seen={};
  for(var i=0;i<d.length;i+=4)if(d[i+3])seen[d[i]+","+d[i+1]+","+d[i+2]]=1;return Object.keys(seen).length;}
 function send(c,type,x,y,more){c.dispatchEvent(new MouseEvent(type,Object.assign({bubbles:true,clientX:x,clientY:y},
  more||{})));}
 function at(c){return c.getBoundingClientRect();}
 function picture(c){return c.toDataURL();}
 var out={canvases:{},tips:{}};
 document.querySelectorAll("canvas").forEach(function(c){
  var r=at(c),before=picture(c);out.canvases[c.id]=ink(c);
  for(var x=.95;x>0;x-=.05)for(var y=4;y<r.height&&!out.tips[c.id];y+=8){send(c,"mousemove",r.left+r.width*x,r.top+y);
   var tip=document.getElementById("tip");if(tip.style.display==="block")out.tips[c.id]=tip.textContent;}
  c.dispatchEvent(new WheelEvent("wheel",{deltaY:-300,clientX:r.left+r.width/2,clientY:r.top+5}));
  var zoomed=picture(c);
  send(c,"dblclick",r.left+5,r.top+5);
  out.canvases[c.id+" zoom"]=zoomed!==before&&picture(c)===before;
 });
 var body=document.getElementById("ops").tBodies[0],head=document.querySelectorAll("#ops th")[1];
 function calls(){return Array.from(body.rows).map(function(r){return +r.cells[1].textContent;});}
 head.click();out.down=calls();head.click();out.up=calls();
 out.tables=Array.from(document.querySelectorAll("table")).map(function(t){return t.id;});
 }catch(e){problems.push(String(e));}
 out.problems=problems;document.body.textContent=JSON.stringify(out);});</script>"""


def browse(path, tmp_path, *options):
    # Libraries of a sanitizer, which the test may run under, are not for the browser.
    environment = {**os.environ, "HOME": str(tmp_path), "LD_PRELOAD": ""}
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={tmp_path / 'browser'}", "--window-size=1200,900", *options, path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_in_a_browser(training, tmp_path):
    """No errors; everything is drawn, can be pointed at, zoomed and sorted."""
    training.roof = (100.0, 20.0)
    path = tmp_path / "report.html"
    training.save(path, "html")
    page = path.read_text().replace("<body>", "<body>" + CATCH).replace("</body>", ACT + "</body>")
    path.write_text(page)
    dom = browse(path, tmp_path, "--dump-dom").stdout
    seen = json.loads(html.unescape(re.search(r"<body>(.*)</body>", dom, re.S)[1]))
    assert seen["problems"] == []
    assert {"timeline", "flame", "memory0"} <= set(seen["canvases"])
    assert seen["canvases"]["timeline"] > 5 and seen["canvases"]["flame"] > 5 and seen["canvases"]["memory0"] > 1
    assert all(seen["canvases"][f"{name} zoom"] for name in ("timeline", "flame", "memory0"))
    assert re.search(r"\d (ns|us|ms|s) at ", seen["tips"]["timeline"])
    assert "calls, total" in seen["tips"]["flame"]
    assert re.search(r"\d (B|KiB|MiB) at ", seen["tips"]["memory0"])
    assert seen["down"] == sorted(seen["down"], reverse=True) and seen["up"] == sorted(seen["up"])
    assert {"ops", "backward", "layers", "lines", "kinds", "allocations"} <= set(seen["tables"])


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_an_empty_recording_in_a_browser(tmp_path):
    path = tmp_path / "report.html"
    recorded(lambda: None).save(path, "html")
    path.write_text(
        path.read_text()
        .replace("<body>", "<body>" + CATCH)
        .replace("</body>", '<script>document.body.dataset.problems=problems.length+"";</script></body>')
    )
    assert 'data-problems="0"' in browse(path, tmp_path, "--dump-dom").stdout


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_the_report_asks_for_nothing_from_elsewhere(training, tmp_path):
    """With every name resolved to nothing, it is what it was."""
    path = tmp_path / "report.html"
    training.save(path, "html")
    log = tmp_path / "net.json"
    browse(path, tmp_path, "--host-resolver-rules=MAP * ~NOTFOUND", f"--log-net-log={log}", "--dump-dom")
    requests = set(re.findall(r'"url":"([a-z]+)://[^"]*report', log.read_text()))
    assert requests <= {"file"}
