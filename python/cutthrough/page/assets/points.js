// What is shown of one point at a time: tables of benchmarks, messages, time series, channels.

// --- Channels ------------------------------------------------------------------------------------------------------

const maps = data.maps.flatMap((held, result) => Object.keys(held).map((place) => ({ result, place: Number(place), map: held[place] })));

function settingsOf({ result, place }) {
  const settings = Object.entries(data.places[result][place]).map(([key, value]) => `${key.split(".").slice(-1)[0]} ${typeof value === "number" ? number(value) : value}`);
  return [several ? data.results[result].name : "", settings.join(", ")].filter(Boolean).join(": ") || "the only point";
}

function cellsOf(panel, text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: panel.height }, (_, row) => Array.from({ length: panel.width }, (_, column) => {
    const cell = view.getUint16(2 * (row * panel.width + column), true);
    return cell === NOTHING ? null : cell / STEPS;
  }));
}

// The choice of a point, with buttons to those beside it. All choices of the page go together where they can.
const pickers = [];
function picker([select, before, after], held, draw) {
  const made = { select: byId(select), held, draw };
  const choose = (at) => {
    made.select.value = String(at);
    draw(held[at]);
    for (const other of pickers.filter((one) => one !== made)) {
      const there = other.held.findIndex((one) => one.result === held[at].result && one.place === held[at].place);
      if (there < 0 || other.select.value === String(there)) continue;
      other.select.value = String(there);
      other.draw(other.held[there]);
    }
  };
  held.forEach((one, at) => made.select.append(element("option", settingsOf(one), { value: at })));
  const step = (by) => choose((Number(made.select.value) + by + held.length) % held.length);
  byId(before).addEventListener("click", () => step(-1));
  byId(after).addEventListener("click", () => step(1));
  made.select.addEventListener("change", () => choose(Number(made.select.value)));
  made.redraw = () => draw(held[Number(made.select.value)]);
  pickers.push(made);
  return made;
}

// A section is drawn when it is scrolled to: most readers open the page for its curves.
function lazily(section, draw) {
  let seen = false;
  const begin = (redraw) => whenSeen(byId(section), () => { seen = true; charts.push({ draw: redraw }); redraw(); });
  return { draw: (held) => seen && draw(held), begin };
}

function drawChannels() {
  if (!maps.length) return drop("channels");
  byId("mapsNote").textContent = data.mapsNote;
  const lazy = lazily("channels", ({ map }) => {
    const headings = ["class of channels", "channels", ...["mean", "max"].flatMap((part) => map.columns.map((name) => `${part} ${name}`))];
    plainTable(byId("classes"), headings, map.classes);
    plainTable(byId("hottest"), ["hottest channels", "class", ...map.columns], map.hottest);
    heatMaps(map);
  });
  lazy.begin(picker(["place", "before", "after"], maps, lazy.draw).redraw);
}

function heatMaps(map) {
  const wanted = map.panels.flatMap((panel) => panel.cells.map((text, column) => ({ panel, heading: map.columns[column], z: cellsOf(panel, text) })));
  const box = byId("maps");
  while (box.children.length > wanted.length) box.lastChild.remove();
  while (box.children.length < wanted.length) {
    const made = element("div", null, { class: "chart map" });
    made.append(element("h3"), element("div", null, { class: "plot" }));
    box.append(made);
  }
  wanted.forEach(({ panel, heading, z }, at) => {
    const [title, plot] = box.children[at].children;
    title.textContent = `${panel.title}: ${heading}`;
    show(heatMap(panel, z, map.top), plot);
  });
}

function heatMap(panel, z, top) {
  // Several places may share a cell: marks are at places, and have the numbers of routers and ports.
  const [across, up] = panel.shared, middle = (at, factor) => at * factor + (factor - 1) / 2;
  const cells = z.flatMap((row, y) => row.map((value, x) => ({ x: middle(x, across), y: middle(y, up), value })));
  const held = Object.fromEntries(["x", "y", "value"].map((name) => [name, cells.map((cell) => cell[name] ?? NaN)]));
  held.words = cells.map((cell) => (cell.value === null ? "no channel" : cell.value.toFixed(4)));
  const called = (along, at) => (panel.numbers[along] ? panel.numbers[along][at] ?? "" : at);
  const named = (along, at) => (panel.shared[along] > 1 ? `${called(along, at - (panel.shared[along] - 1) / 2)} and ${panel.shared[along] - 1} more` : `${called(along, at)}`);
  held.across = cells.map((cell) => named(0, cell.x));
  held.up = cells.map((cell) => named(1, cell.y));
  const [x_range, y_range] = [[-0.5, panel.width * across - 0.5], [panel.height * up - 0.5, -0.5]].map(([start, end]) => new Bokeh.Range1d({ start, end }));
  const figure = emptyFigure({ x_range, y_range, x_axis_label: panel.axes[0], y_axis_label: panel.axes[1], height: 340 });
  for (const grid of figure.center) grid.grid_line_color = null;
  for (const axis of [...figure.below, ...figure.left]) Object.assign(axis.ticker, { min_interval: 1, num_minor_ticks: 0 });
  [figure.below[0], figure.left[0]].forEach((axis, along) => {
    if (panel.numbers[along]) axis.major_label_overrides = new Map(panel.numbers[along].map((name, at) => [at, `${name}`]));
  });
  const color_mapper = new Bokeh.LinearColorMapper({ palette: data.palette, low: 0, high: top, nan_color: colour("--nothing") });
  const fill = { field: "value", transform: color_mapper };
  const style = { source: new Bokeh.ColumnDataSource({ data: held }), fill_color: fill, line_color: fill };
  const drawn = figure.rect({ field: "x" }, { field: "y" }, across, up, style);
  const text = { major_label_text_color: colour("--ink"), title_text_color: colour("--ink"), title_text_font_style: "normal" };
  const bar = { color_mapper, background_fill_color: null, title: "share of bandwidth", ...text, width: 12 };
  figure.add_layout(new Bokeh.ColorBar(bar), "right");
  figure.add_tools(new Bokeh.HoverTool({ renderers: [drawn], tooltips: [["share", "@words"], [panel.axes[0], "@across"], [panel.axes[1], "@up"]] }));
  return figure;
}

// The tables of benchmarks, for each of the results.
function drawBenchmarks() {
  if (!data.tables.some(Boolean)) return drop("benchmarks");
  data.tables.forEach((text, result) => {
    if (!text) return;
    const card = element("div");
    if (several) card.append(element("h3", data.results[result].name));
    card.append(element("pre", text));
    byId("printed").append(card);
  });
}

// --- Messages ------------------------------------------------------------------------------------------------------

const senders = data.messages.flatMap((held, result) => Object.keys(held).map((place) => ({ result, place: Number(place), messages: held[place] })));
// Each further nine takes as much room; all messages stand a little beyond the last mark.
const PARTS = [0, 0.5, 0.9, 0.99, 0.999, 0.9999], ALL = 5;
const nines = (part) => (part >= 1 ? ALL : -Math.log10(1 - part));

function drawMessages() {
  if (!senders.length) return drop("messages");
  const lazy = lazily("messages", ({ messages }) => messageFigures(messages));
  lazy.begin(picker(["sender", "senderBefore", "senderAfter"], senders, lazy.draw).redraw);
}

function messageFigures(messages) {
  figuresOf(["messageLines", "sizes"], messages.map((line) => line.name), 2, (looks) => {
    const shown = looking(messages, looks);
    return [sizeFigure(shown), spreadFigure(shown)];
  });
}

function sizeFigure(shown) {
  const figure = emptyFigure({ x_axis_label: "bytes of a message (largest of its class)", y_axis_label: "slowdown", x_axis_type: "log", y_axis_type: "log", height: 300 });
  const lines = shown.flatMap((line) => [
    { ...line, x: line.bytes, y: line.p50, words: "median", dash: "solid", fill: line.colour },
    { ...line, x: line.bytes, y: line.p99, words: "99th percentile", dash: "dashed", fill: colour("--paper") },
  ]);
  return withPoints(figure, lines, (line, at) => `${number(line.x[at])} B, ${line.words}`);
}

function spreadFigure(shown) {
  const figure = emptyFigure({ x_axis_label: "part of the messages", y_axis_label: "slowdown", y_axis_type: "log", height: 300 });
  figure.below[0].ticker = new Bokeh.FixedTicker({ ticks: [...PARTS.map(nines), ALL] });
  figure.below[0].major_label_overrides = new Map([...PARTS.map((part) => [nines(part), `${number(100 * part)} %`]), [ALL, "all"]]);
  const lines = shown.map((line) => ({ ...line, x: line.part.map(nines), y: line.slowdown, fill: line.colour }));
  return withPoints(figure, lines, (line, at) => `${number(100 * line.part[at])} % of the messages`);
}

// A figure with lines, and with points that name their values. A line has the names of a look, `x`, `y` and the `fill` of its
// points, and may have a `path` other than through them; `where` says where a point stands.
function withPoints(figure, lines, where) {
  const paths = lines.map((line) => line.path ?? [line.x, line.y.map((value) => value ?? NaN)]);
  const held = { xs: paths.map(([x]) => x), ys: paths.map(([, y]) => y), colour: lines.map((line) => line.colour), dash: lines.map((line) => line.dash) };
  figure.multi_line({ field: "xs" }, { field: "ys" }, { source: new Bokeh.ColumnDataSource({ data: held }), line_color: { field: "colour" }, line_dash: { field: "dash" }, line_width: 1.5 });
  const points = lines.flatMap((line) => line.x.map((x, at) => ({ x, y: line.y[at] ?? NaN, words: number(line.y[at]), at: where(line, at), name: line.name, colour: line.colour, fill: line.fill })));
  const columns = Object.fromEntries(["x", "y", "words", "at", "name", "colour", "fill"].map((name) => [name, points.map((point) => point[name])]));
  const marks = { source: new Bokeh.ColumnDataSource({ data: columns }), size: lines[0]?.size ?? 6, line_color: { field: "colour" }, fill_color: { field: "fill" } };
  const drawn = figure.scatter({ field: "x" }, { field: "y" }, marks);
  figure.add_tools(new Bokeh.HoverTool({ renderers: [drawn], tooltips: [["line", "@name"], ["value", "@words"], ["at", "@at"]] }));
  return figure;
}

// --- Over time -----------------------------------------------------------------------------------------------------

// The figures: what they show, their headings, and by what values are divided (0: as times are).
const TIMED = [["load", () => "accepted load", 1], ["queue", () => "longest queue for a channel, KiB", 1024], ["wait", (unit) => `longest wait at a source, ${unit}`, 0]];
const times = data.series.flatMap((held, result) => Object.keys(held).map((place) => ({ result, place: Number(place), series: held[place] })));
const hidden = new Set();

function drawSeries() {
  if (!times.length) return drop("series");
  byId("seriesNote").textContent = data.seriesNote;
  const lazy = lazily("series", ({ series }) => timeFigures(series));
  lazy.begin(picker(["moment", "momentBefore", "momentAfter"], times, lazy.draw).redraw);
}

// Boxes for the figures of a point, and chips for their lines; `draw` makes the figures of the lines that are shown.
function figuresOf([chips, place], names, count, draw) {
  const looks = names.map((name, at) => ({ name, ...look(at), shown: !hidden.has(name) }));
  const boxes = Array.from({ length: count }, () => {
    const box = element("div", null, { class: "chart time" });
    box.append(element("div", null, { class: "plot" }));
    return box;
  });
  byId(place).replaceChildren(...boxes);
  function redraw() {
    looks.forEach((one) => { one.chip.setAttribute("aria-pressed", String(one.shown)); hidden[one.shown ? "delete" : "add"](one.name); });
    draw(looks.filter((one) => one.shown)).forEach((figure, at) => show(figure, boxes[at].firstChild));
  }
  byId(chips).replaceChildren(...looks.map((one) => chip(one, looks, redraw)));
  redraw();
}

// The lines of a point that are shown, with their looks.
const looking = (lines, looks) => lines.flatMap((line) => looks.filter((one) => one.name === line.name).map((one) => ({ ...one, ...line })));

function timeFigures(series) {
  const last = series.time_ns[series.time_ns.length - 1];
  const [unit, part] = last >= 1e7 ? ["ms", 1e6] : last >= 1e4 ? ["µs", 1e3] : ["ns", 1];
  const names = [...new Set(TIMED.flatMap(([kind]) => series[kind].map((line) => line.name)))];
  const kinds = TIMED.filter(([kind]) => series[kind].length);
  figuresOf(["seriesLines", "times"], names, kinds.length, (looks) => kinds.map(([kind, heading, divisor]) => {
    const shown = looking(series[kind], looks).map((line) => timed(line, series, part, divisor || part));
    return timeFigure(kind, shown, [unit, heading(unit)]);
  }));
}

const timed = (line, series, part, divisor) => ({ ...line, x: (line.time_ns ?? series.time_ns).map((time) => time / part), y: line.y.map((value) => value / divisor) });

function timeFigure(kind, shown, [unit, heading]) {
  const [x_range, y_range] = [new Bokeh.DataRange1d(), new Bokeh.DataRange1d({ start: 0 })];
  const figure = emptyFigure({ x_axis_label: `simulated time, ${unit}`, y_axis_label: heading, x_range, y_range, height: 300 });
  // A load is that of the whole interval before the time; queues and waits are those at it.
  const stairs = (line) => [line.x.flatMap((x, at) => [at ? line.x[at - 1] : 0, x]), line.y.flatMap((y) => [y, y])];
  const lines = shown.map((line) => ({ ...line, fill: line.colour, size: 3, path: kind === "load" ? stairs(line) : null }));
  return withPoints(figure, lines, (line, at) => `${number(line.x[at])} ${unit}`);
}

// What ranks do, and the critical path: tables side by side, then the pictures, for each of the results.
function drawTime() {
  if (!data.time.length) return drop("time");
  for (const own of data.time) {
    if (several) byId("timed").append(element("h3", data.results[own.result].name));
    const tables = element("div", null, { class: "cards" });
    for (const { name, headings, rows } of own.tables) {
      const [box, table] = [element("div", null, { class: "scroll" }), element("table")];
      plainTable(table, headings, rows);
      if (name) table.prepend(element("caption", name));
      box.append(table);
      tables.append(box);
    }
    byId("timed").append(tables);
    for (const { alt, src } of own.pictures) byId("timed").append(element("img", null, { alt, src, class: "picture", loading: "lazy" }));
  }
}

function whenSeen(target, act) {
  const watcher = new IntersectionObserver((seen) => {
    if (seen.some((entry) => entry.isIntersecting)) { watcher.disconnect(); act(); }
  }, { rootMargin: "200px" });
  watcher.observe(target);
}

function drop(section) {
  byId(section).remove();
  document.querySelector(`[data-section="${section}"]`).remove();
}
