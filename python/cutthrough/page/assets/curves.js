// Curves of all points, and the figures that other sections are made of.

// --- Curves --------------------------------------------------------------------------------------------------------

const look = (place) => ({ colour: COLOURS[place % COLOURS.length], dash: DASHES[Math.floor(place / COLOURS.length) % DASHES.length] });
const lines = data.lines.map((line, place) => ({
  ...line,
  ...look(place),
  symbol: SYMBOLS[line.result % SYMBOLS.length],
  shown: true,
  name: [several ? data.results[line.result].name : "", line.label].filter(Boolean).join(": ") || "all points",
}));
const charts = [], views = new Map(), shows = new Map();

// The name of a line with its look, which hides it; a double click shows it alone among its like.
function chip(line, like, draw) {
  const made = element("button", null, { type: "button", class: "chip", "aria-pressed": String(line.shown) });
  const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  sample.setAttribute("width", "22");
  sample.setAttribute("height", "8");
  const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ x1: 0, x2: 22, y1: 4, y2: 4, stroke: line.colour, "stroke-width": 3, "stroke-dasharray": DASHED[line.dash] }))
    stroke.setAttribute(name, value);
  sample.append(stroke);
  made.append(sample, line.name);
  made.addEventListener("click", () => { line.shown = !line.shown; draw(); });
  made.addEventListener("dblclick", () => {
    const alone = like.every((other) => other === line || !other.shown);
    like.forEach((other) => { other.shown = alone || other === line; });
    draw();
  });
  line.chip = made;
  return made;
}

function refresh() {
  lines.forEach((line) => line.chip.setAttribute("aria-pressed", String(line.shown)));
  charts.forEach((chart) => chart.draw());
}

// The runs of neighbouring points that have an interval: the band has gaps between them.
function bandRuns(line, quantity) {
  const runs = [[]];
  line.x.forEach((_, at) => {
    if (line.y[quantity][at] === null || line.ci[quantity][at] === null) runs.push([]);
    else runs[runs.length - 1].push(at);
  });
  return runs.filter((run) => run.length);
}

// All bands, all lines and all points of a figure are one glyph each: a figure of a hundred lines is drawn as fast as one
// of few. Bands are cut off on logarithmic axes where they would reach 0.
function drawBands(figure, shown, quantity, isLog) {
  const patches = { xs: [], ys: [], colour: [] }, bars = { x: [], low: [], high: [] };
  for (const line of shown) {
    const value = (at) => line.y[quantity][at], half = (at) => line.ci[quantity][at];
    const low = (at) => (isLog && value(at) <= half(at) ? value(at) / 10 : value(at) - half(at));
    for (const run of bandRuns(line, quantity)) {
      const x = run.map((at) => line.x[at]), ends = { low: run.map(low), high: run.map((at) => value(at) + half(at)) };
      if (data.axis.names || run.length === 1) {
        bars.x.push(...x);
        bars.low.push(...ends.low);
        bars.high.push(...ends.high);
      } else {
        patches.xs.push([...x, ...x.slice().reverse()]);
        patches.ys.push([...ends.low, ...ends.high.slice().reverse()]);
        patches.colour.push(line.colour);
      }
    }
  }
  const source = new Bokeh.ColumnDataSource({ data: patches });
  figure.patches({ field: "xs" }, { field: "ys" }, { source, fill_color: { field: "colour" }, fill_alpha: 0.2, line_color: null });
  const whisker = { base: { field: "x" }, lower: { field: "low" }, upper: { field: "high" }, line_color: colour("--faint") };
  if (bars.x.length) figure.add_layout(new Bokeh.Whisker({ ...whisker, source: new Bokeh.ColumnDataSource({ data: bars }) }));
}

const remarkOf = (mark) => [mark & SATURATED ? "saturated" : "", mark & UNCONVERGED ? "not converged" : ""].filter(Boolean).join(", ");

function drawLines(figure, shown, quantity) {
  const values = (line) => line.y[quantity].map((value) => value ?? NaN);
  if (!data.axis.names) {
    const held = { xs: shown.map((line) => line.x), ys: shown.map(values), colour: shown.map((line) => line.colour), dash: shown.map((line) => line.dash) };
    const source = new Bokeh.ColumnDataSource({ data: held });
    figure.multi_line({ field: "xs" }, { field: "ys" }, { source, line_color: { field: "colour" }, line_dash: { field: "dash" }, line_width: 2 });
  }
  const points = shown.flatMap((line) => line.x.map((x, at) => {
    const half = line.ci[quantity][at], mark = line.marks[at];
    return {
      x, y: line.y[quantity][at] ?? NaN, words: `${number(line.y[quantity][at])}${half === null ? "" : ` ± ${number(half)}`}`, at: number(x),
      remarks: remarkOf(mark), name: line.name, marker: mark & UNCONVERGED ? "x" : line.symbol, colour: line.colour,
      fill: mark & SATURATED ? colour("--paper") : line.colour,
    };
  }));
  const columns = ["x", "y", "words", "at", "remarks", "name", "marker", "colour", "fill"];
  const held = Object.fromEntries(columns.map((name) => [name, points.map((point) => point[name])]));
  const source = new Bokeh.ColumnDataSource({ data: held });
  const marks = { source, marker: { field: "marker" }, size: 8, line_color: { field: "colour" }, line_width: 2, fill_color: { field: "fill" } };
  return figure.scatter({ field: "x" }, { field: "y" }, marks);
}

// Marks of axes are plain numbers: at 1, 2 and 5 of each power of ten where the axis is logarithmic.
function plainMarks(axis) {
  if (axis.type.startsWith("Log")) axis.ticker = new Bokeh.LogTicker({ mantissas: [1, 2, 5] });
  if (axis.type.startsWith("Categorical")) return;
  axis.formatter = new Bokeh.BasicTickFormatter({ use_scientific: false });
  axis.axis_label_text_font_size = narrow() ? "11px" : "13px";
}

const narrow = () => window.innerWidth < 560;

// A label of an axis in lines that fit a narrow page.
function inLines(label) {
  if (!narrow()) return label;
  const lines = [""];
  for (const word of label.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length > 34) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines.join("\n");
}

// An empty figure in the colours of the page.
function emptyFigure(options) {
  const labels = Object.fromEntries(["x_axis_label", "y_axis_label"].filter((name) => options[name]).map((name) => [name, inLines(options[name])]));
  const figure = Bokeh.Plotting.figure({ sizing_mode: "stretch_width", tools: TOOLS, toolbar_location: "above", ...options, ...labels });
  figure.toolbar.logo = null;
  Object.assign(figure, { background_fill_color: null, border_fill_color: null, outline_line_color: colour("--rule") });
  for (const axis of [...figure.below, ...figure.left]) {
    Object.assign(axis, { axis_label_text_color: colour("--ink"), major_label_text_color: colour("--ink"), axis_label_text_font_style: "normal" });
    for (const part of ["axis_line_color", "major_tick_line_color", "minor_tick_line_color"]) axis[part] = colour("--faint");
    plainMarks(axis);
  }
  for (const grid of figure.center) grid.grid_line_color = colour("--rule");
  return figure;
}

// Shows a figure in place of the one that is there.
async function show(figure, place) {
  const turn = (shows.get(place) ?? 0) + 1;
  shows.set(place, turn);
  const box = element("div");
  place.replaceChildren(box);
  const view = await Bokeh.Plotting.show(figure, box);
  if (shows.get(place) !== turn) return view.remove();
  views.get(place)?.remove();
  views.set(place, view);
}

function spread(quantity) {
  const values = lines.flatMap((line) => line.y[quantity]).filter((value) => value > 0);
  return values.length ? Math.max(...values) / Math.min(...values) : 1;
}

function chart(first) {
  const box = element("div", null, { class: "chart" }), controls = element("div", null, { class: "controls" });
  const select = element("select", null, { "aria-label": "Quantity" }), plot = element("div", null, { class: "plot" });
  for (const [name, heading] of data.quantities) select.append(element("option", heading, { value: name }));
  select.value = first;
  const log = element("input", null, { type: "checkbox" }), bands = element("input", null, { type: "checkbox" });
  bands.checked = true;
  const scaled = () => { log.checked = select.value.includes("_ns") && spread(select.value) > 12; };
  scaled();
  for (const [box_, word] of [[log, "logarithmic"], [bands, "bands"]]) {
    const label = element("label");
    label.append(box_, ` ${word}`);
    controls.append(label);
    box_.addEventListener("change", draw);
  }
  controls.prepend(select);
  select.addEventListener("change", () => { scaled(); draw(); });
  box.append(controls, plot);
  byId("charts").append(box);
  function draw() {
    const shown = lines.filter((line) => line.shown), quantity = select.value, isLog = log.checked;
    const axes = { x_axis_label: data.axis.label, y_axis_label: data.quantities.find(([name]) => name === quantity)[1] };
    const x_range = data.axis.names ? [...new Set(lines.flatMap((line) => line.x))] : new Bokeh.DataRange1d();
    const y_range = new Bokeh.DataRange1d(isLog ? {} : { start: 0 });
    const figure = emptyFigure({ ...axes, x_range, y_range, y_axis_type: isLog ? "log" : "linear", height: 380 });
    if (data.axis.names) figure.below[0].major_label_orientation = 0.8;
    if (bands.checked) drawBands(figure, shown, quantity, isLog);
    const renderers = [drawLines(figure, shown, quantity)];
    const tooltips = [["line", "@name"], ["value", "@words"], ["at", "@at"], ["", "@remarks"]];
    figure.add_tools(new Bokeh.HoverTool({ renderers, tooltips }));
    return show(figure, plot);
  }
  charts.push({ draw });
}

function drawCurves() {
  const names = data.quantities.map(([name]) => name);
  if (!names.length) return;
  byId("lines").append(...lines.map((line) => chip(line, lines, refresh)));
  const second = names.find((name) => name === "accepted_load" && name !== names[0]) ?? names[1];
  chart(names[0]);
  if (second) chart(second);
  return Promise.all(charts.map((made) => made.draw()));
}
