"use strict";
// Three things: draw the plots in the page's colours, sort the comparison, colour the fabrics by the chosen case.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const PAPER = { half: 330, full: 680 }; // pixels; a plot does not see how wide the paper is
let onPaper = false;

function drawPlots() {
  const ink = onPaper ? "#000" : colour("--ink"), line = onPaper ? "#ccc" : colour("--line");
  for (const place of document.querySelectorAll(".plot")) {
    const figure = JSON.parse(place.nextElementSibling.textContent);
    for (const trace of figure.data) {
      if (trace.type === "bar" || trace.marker?.color) continue; // has a colour that means something
      trace.marker = { ...trace.marker, color: ink, line: { ...trace.marker?.line, color: ink } };
      if (trace.error_x) trace.error_x.color = ink;
    }
    const layout = figure.layout;
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: ink };
    const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
    for (const axis of axes) layout[axis].gridcolor = layout[axis].linecolor = line;
    layout.yaxis.showgrid = false;
    if (onPaper) layout.width = place.closest(".charts") ? PAPER.half : PAPER.full;
    Plotly.react(place, figure.data, layout, { displayModeBar: false, responsive: !onPaper });
  }
}

function sortBy(button) {
  const head = button.closest("th"), index = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const order = (a, b) => {
    const [x, y] = [a, b].map((row) => row.children[index].dataset.key);
    const words = head.classList.contains("word");
    return (words ? x.localeCompare(y, undefined, { numeric: true }) : x - y) * (down ? -1 : 1);
  };
  for (const body of button.closest("table").tBodies) {
    body.append(...[...body.rows].filter((row) => row.className !== "case").sort(order));
  }
}

function colourFabrics(index) {
  for (const band of document.querySelectorAll(".band")) {
    const load = JSON.parse(band.dataset.loads)[index];
    band.setAttribute("class", `band heat-${load ? load.heat : "none"}`);
    band.querySelector(".now").textContent = load ? load.text : "";
  }
}

for (const [event, print] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => { onPaper = print; drawPlots(); });
}
drawPlots();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);
for (const button of document.querySelectorAll("thead button")) button.addEventListener("click", () => sortBy(button));
document.getElementById("case")?.addEventListener("change", (event) => colourFabrics(Number(event.target.value)));
