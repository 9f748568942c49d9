"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const several = data.results.length > 1;
  // Okabe and Ito's colours, which colour-blind readers can tell apart; black and yellow left out for both themes.
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6bb1", "#7f7f7f"];
  const DASHES = ["solid", "dashed", "dotted", "dotdash"];
  const DASHED = { solid: "", dashed: "6 3", dotted: "2 3", dotdash: "2 3 6 3" };
  const SYMBOLS = ["circle", "square", "diamond", "triangle", "inverted_triangle", "hex", "star", "plus"];
  const SATURATED = 1, UNCONVERGED = 2;
  const SHOWN_WARNINGS = 3;
  const STEPS = 1e4, NOTHING = 0xffff;
  const TOOLS = "pan,box_zoom,wheel_zoom,reset,save";

  const byId = (id) => document.getElementById(id);

  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  function number(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size >= 1e9 || size < 1e-3) return value.toExponential(3);
    return value.toLocaleString("en", { maximumFractionDigits: size >= 1e4 ? 0 : size >= 100 ? 1 : size >= 1 ? 3 : 4 });
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // --- What was asked ------------------------------------------------------------------------------------------------

  function card(result) {
    const box = element("article", null, { class: "card" });
    box.append(element("h3", several ? result.name : result.title || result.name));
    if (result.drawing) box.append(element("img", null, { src: result.drawing, alt: "The machine" }));
    const list = element("dl");
    const runs = result.runs === result.points ? "" : ` (${result.runs} runs)`;
    const facts = [["Cutthrough", result.version], ["seed", result.seed], ["points", `${result.points}${runs}`]];
    if (several && result.title) facts.unshift(["title", result.title]);
    for (const [name, value] of [...facts, ...result.sections, ...result.sweep.map(([key, values]) => [`sweep: ${key}`, values])])
      list.append(element("dt", name), element("dd", value));
    box.append(list);
    const [first, rest] = [result.warnings.slice(0, SHOWN_WARNINGS), result.warnings.slice(SHOWN_WARNINGS)];
    if (first.length) box.append(warningList(first));
    if (rest.length) box.append(details(`${rest.length} more warnings`, warningList(rest)));
    box.append(details("The resolved experiment", element("pre", result.experiment)));
    return box;
  }

  function warningList(warnings) {
    const list = element("ul", null, { class: "warnings" });
    list.append(...warnings.map((warning) => element("li", warning)));
    return list;
  }

  function details(summary, content) {
    const made = element("details");
    made.append(element("summary", summary), content);
    return made;
  }

  function drawAsked() {
    byId("results").append(...data.results.map(card));
    if (!several || !data.differing.length) return;
    const table = element("table");
    plainTable(table, ["settings that differ", ...data.results.map((result) => result.name)], data.differing);
    const scroll = element("div", null, { class: "scroll" });
    scroll.append(table);
    byId("differing").append(scroll);
  }

  function plainTable(table, headings, rows) {
    const head = element("tr");
    for (const heading of headings) {
      const cell = element("th", null, { scope: "col" });
      cell.append(element("span", heading));
      head.append(cell);
    }
    alignHeadings(head, rows.map((row) => row.map((value) => ({ value }))));
    const body = element("tbody");
    for (const row of rows) {
      const line = element("tr");
      for (const value of row) line.append(cellOf(plain(value)));
      body.append(line);
    }
    const top = element("thead");
    top.append(head);
    table.replaceChildren(top, body);
  }

  // --- Tables that sort ----------------------------------------------------------------------------------------------

  // A cell is { value, text, small }: what it sorts by, what it shows, and what stands beside that. The rows are kept in
  // the order of the data; a second click on a heading turns its order round.
  function sortable(table, headings, rows) {
    const state = { column: -1, down: false };
    const head = element("tr"), top = element("thead"), body = element("tbody");
    headings.forEach((heading, column) => {
      const cell = element("th", null, { scope: "col" }), button = element("button", heading, { type: "button" });
      button.addEventListener("click", () => {
        state.down = state.column === column && !state.down;
        state.column = column;
        [...head.children].forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        fill();
      });
      cell.append(button);
      head.append(cell);
    });
    alignHeadings(head, rows.map((row) => row.cells));
    top.append(head);
    table.replaceChildren(top, body);
    const made = rows.map((row) => ({ row, line: lineOf(row), text: row.cells.map((cell) => cell.text).join(" ").toLowerCase() }));
    let accepts = () => true;
    function fill() {
      const shown = made.filter(accepts);
      if (state.column >= 0) {
        const sign = state.down ? -1 : 1;
        shown.sort((one, other) => compareCells(one.row.cells[state.column].value, other.row.cells[state.column].value, sign));
      }
      body.replaceChildren(...shown.map((item) => item.line));
      return shown.length;
    }
    fill();
    return (test) => { accepts = test; return fill(); };
  }

  // The headings of numbers are over their ends.
  function alignHeadings(head, rows) {
    [...head.children].forEach((cell, column) => cell.classList.toggle("number", rows.some((row) => typeof row[column].value === "number")));
  }

  // What is missing comes last in either order.
  function compareCells(one, other, sign) {
    const missing = (value) => value === null || value === undefined || value === "";
    if (missing(one) || missing(other)) return missing(one) - missing(other);
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * String(one).localeCompare(String(other), "en", { numeric: true });
  }

  function lineOf(row) {
    const line = element("tr", null, row.class ? { class: row.class } : {});
    line.append(...row.cells.map(cellOf));
    return line;
  }

  function cellOf(cell) {
    const made = element("td", cell.text, typeof cell.value === "number" ? { class: "number" } : {});
    if (cell.small) made.append(" ", element("small", cell.small));
    return made;
  }

  const plain = (value) => ({ value, text: value === null || value === undefined ? "–" : typeof value === "number" ? number(value) : value });

  function drawPoints() {
    const headings = [...(several ? ["result"] : []), ...data.axes.map((axis) => axis.split(".").slice(-1)[0])];
    headings.push(...data.quantities.map(([, heading]) => heading));
    const seeds = data.rows.some((rows) => rows.some((row) => row.seeds > 1));
    if (seeds) headings.push("seeds");
    headings.push("remarks");
    const rows = data.rows.flatMap((rows, result) => rows.map((row) => {
      const cells = several ? [plain(data.results[result].name)] : [];
      cells.push(...data.axes.map((axis) => plain(row.settings[axis] ?? null)));
      row.y.forEach((value, place) => {
        const half = row.ci[place];
        cells.push({ ...plain(value), small: half === null ? "" : `± ${number(half)}` });
      });
      if (seeds) cells.push(plain(row.seeds));
      cells.push(plain(row.marks));
      return { cells, class: row.marks ? "marked" : "" };
    }));
    const show = sortable(byId("table"), headings, rows);
    const count = (shown) => { byId("count").textContent = `${shown} of ${rows.length} points`; };
    count(rows.length);
    byId("filter").addEventListener("input", (event) => {
      const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      count(show((item) => words.every((word) => item.text.includes(word))));
    });
  }

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

  // An empty figure in the colours of the page.
  function emptyFigure(options) {
    const figure = Bokeh.Plotting.figure({ sizing_mode: "stretch_width", tools: TOOLS, toolbar_location: "above", ...options });
    figure.toolbar.logo = null;
    Object.assign(figure, { background_fill_color: null, border_fill_color: null, outline_line_color: colour("--rule") });
    for (const axis of [...figure.below, ...figure.left]) {
      Object.assign(axis, { axis_label_text_color: colour("--ink"), major_label_text_color: colour("--ink"), axis_label_text_font_style: "normal" });
      for (const part of ["axis_line_color", "major_tick_line_color", "minor_tick_line_color"]) axis[part] = colour("--faint");
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

  // --- Differences ---------------------------------------------------------------------------------------------------

  function drawDifferences() {
    if (!several) return drop("differences");
    const select = byId("pair");
    data.comparisons.forEach((found, place) => {
      const [a, b] = found.pair.map((result) => data.results[result].name);
      select.append(element("option", `${a} and ${b}`, { value: place }));
    });
    let show = null;
    const filter = () => show((item) => !byId("only").checked || item.row.class === "sure");
    const draw = () => { show = comparison(data.comparisons[Number(select.value)]); filter(); };
    select.addEventListener("change", draw);
    byId("only").addEventListener("change", filter);
    draw();
  }

  function comparison(found) {
    const [a, b] = found.pair.map((result) => data.results[result].name);
    const headings = [...found.axes.map((axis) => axis.split(".").slice(-1)[0]), "quantity", a, b, "change", "p", "", "remarks"];
    const rows = found.rows.map(([settings, heading, one, other, relative, half, p, mark, notes]) => {
      const percent = relative === null ? (one === null || other === null ? "–" : number(other - one)) : `${relative > 0 ? "+" : ""}${(100 * relative).toFixed(2)} %`;
      const change = { value: relative, text: percent, small: half === null || !one ? "" : `± ${((100 * half) / Math.abs(one)).toFixed(2)} %` };
      const sure = { value: p, text: p === null ? "–" : p < 1e-4 ? "< 0.0001" : p.toFixed(4) };
      return { cells: [...settings.map(plain), plain(heading), plain(one), plain(other), change, sure, plain(mark), plain(notes)], class: mark.startsWith("*") ? "sure" : "" };
    });
    const level = `${(100 * found.confidence).toFixed(0)} %`;
    const chance = (found.judged * (1 - found.confidence)).toFixed(1);
    byId("verdict").textContent = found.rows.length
      ? `${found.significant} of ${found.judged} differences are significant at ${level} (by chance alone about ${chance} would be). * significant alone (Welch's test), ** among all (Holm's correction), = equal.`
      : "No point of one has the settings of a point of the other.";
    const lonely = found.unmatched.flatMap((keys, side) => keys.map((key) => element("p", `only in ${side ? b : a}: ${key}`, { class: "hint" })));
    byId("unmatched").replaceChildren(...lonely);
    return sortable(byId("changes"), headings, rows);
  }

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
    const cells = z.flatMap((row, y) => row.map((value, x) => ({ x, y, value })));
    const held = Object.fromEntries(["x", "y", "value"].map((name) => [name, cells.map((cell) => cell[name] ?? NaN)]));
    held.words = cells.map((cell) => (cell.value === null ? "no channel" : cell.value.toFixed(4)));
    const [x_range, y_range] = [[-0.5, panel.width - 0.5], [panel.height - 0.5, -0.5]].map(([start, end]) => new Bokeh.Range1d({ start, end }));
    const figure = emptyFigure({ x_range, y_range, x_axis_label: panel.axes[0], y_axis_label: panel.axes[1], height: 340 });
    for (const grid of figure.center) grid.grid_line_color = null;
    for (const axis of [...figure.below, ...figure.left]) Object.assign(axis.ticker, { min_interval: 1, num_minor_ticks: 0 });
    const color_mapper = new Bokeh.LinearColorMapper({ palette: data.palette, low: 0, high: top, nan_color: colour("--nothing") });
    const fill = { field: "value", transform: color_mapper };
    const style = { source: new Bokeh.ColumnDataSource({ data: held }), fill_color: fill, line_color: fill };
    const drawn = figure.rect({ field: "x" }, { field: "y" }, 1, 1, style);
    const text = { major_label_text_color: colour("--ink"), title_text_color: colour("--ink"), title_text_font_style: "normal" };
    const bar = { color_mapper, background_fill_color: null, title: "share of bandwidth", ...text, width: 12 };
    figure.add_layout(new Bokeh.ColorBar(bar), "right");
    figure.add_tools(new Bokeh.HoverTool({ renderers: [drawn], tooltips: [["share", "@words"], [panel.axes[0], "@x"], [panel.axes[1], "@y"]] }));
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

  function timeFigures(series) {
    const last = series.time_ns[series.time_ns.length - 1];
    const [unit, part] = last >= 1e7 ? ["ms", 1e6] : last >= 1e4 ? ["µs", 1e3] : ["ns", 1];
    const names = [...new Set(TIMED.flatMap(([kind]) => series[kind].map((line) => line.name)))];
    const looks = names.map((name, place) => ({ name, ...look(place), shown: !hidden.has(name) }));
    const kinds = TIMED.filter(([kind]) => series[kind].length);
    const boxes = kinds.map(() => {
      const box = element("div", null, { class: "chart time" });
      box.append(element("div", null, { class: "plot" }));
      return box;
    });
    byId("times").replaceChildren(...boxes);
    function draw() {
      looks.forEach((one) => { one.chip.setAttribute("aria-pressed", String(one.shown)); hidden[one.shown ? "delete" : "add"](one.name); });
      kinds.forEach(([kind, heading, divisor], at) => {
        const shown = series[kind].flatMap((line) => looks.filter((one) => one.shown && one.name === line.name).map((one) => ({ ...one, ...line })));
        show(timeFigure(kind, shown.map((line) => timed(line, series, part, divisor || part)), [unit, heading(unit)]), boxes[at].firstChild);
      });
    }
    byId("seriesLines").replaceChildren(...looks.map((one) => chip(one, looks, draw)));
    draw();
  }

  const timed = (line, series, part, divisor) => ({ ...line, x: (line.time_ns ?? series.time_ns).map((time) => time / part), y: line.y.map((value) => value / divisor) });

  function timeFigure(kind, shown, [unit, heading]) {
    const [x_range, y_range] = [new Bokeh.DataRange1d(), new Bokeh.DataRange1d({ start: 0 })];
    const figure = emptyFigure({ x_axis_label: `simulated time, ${unit}`, y_axis_label: heading, x_range, y_range, height: 300 });
    // A load is that of the whole interval before the time; queues and waits are those at it.
    const stepped = (values, isTime) => (kind === "load" ? values.flatMap((value, at) => (isTime ? [at ? values[at - 1] : 0, value] : [value, value])) : values);
    const held = { xs: shown.map((line) => stepped(line.x, true)), ys: shown.map((line) => stepped(line.y, false)), colour: shown.map((line) => line.colour), dash: shown.map((line) => line.dash) };
    figure.multi_line({ field: "xs" }, { field: "ys" }, { source: new Bokeh.ColumnDataSource({ data: held }), line_color: { field: "colour" }, line_dash: { field: "dash" }, line_width: 1.5 });
    const points = shown.flatMap((line) => line.x.map((x, at) => ({ x, y: line.y[at], words: number(line.y[at]), at: `${number(x)} ${unit}`, name: line.name, colour: line.colour })));
    const columns = Object.fromEntries(["x", "y", "words", "at", "name", "colour"].map((name) => [name, points.map((point) => point[name])]));
    const marks = { source: new Bokeh.ColumnDataSource({ data: columns }), size: 3, line_color: { field: "colour" }, fill_color: { field: "colour" } };
    const drawn = figure.scatter({ field: "x" }, { field: "y" }, marks);
    figure.add_tools(new Bokeh.HoverTool({ renderers: [drawn], tooltips: [["line", "@name"], ["value", "@words"], ["until", "@at"]] }));
    return figure;
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

  drawAsked();
  drawPoints();
  drawDifferences();
  const drawn = drawCurves();
  drawSeries();
  drawChannels();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((made) => made.draw()));
  // For tests, and for whoever prints the page: the curves are there.
  Promise.resolve(drawn).then(() => { document.documentElement.dataset.ready = "true"; });
})();
