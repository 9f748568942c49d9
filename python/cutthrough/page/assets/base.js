// What was asked, tables and differences; what the other scripts of the page share.

const data = JSON.parse(document.getElementById("data").textContent);
const several = data.results.length > 1;
// Okabe and Ito's colours, which colour-blind readers can distinguish; black and yellow left out for both themes.
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
  if (size < 1e-6) return value.toExponential(3);
  if (size < 1e-3) return value.toPrecision(3);
  return value.toLocaleString("en", { maximumFractionDigits: size >= 1e4 ? 0 : size >= 100 ? 1 : size >= 1 ? 3 : 4 });
}

// A value that is a tiny part of its column's unit has a smaller unit.
const UNITS = [["s", "ms", "µs", "ns"], ["TB/s", "GB/s", "MB/s", "kB/s", "B/s"]];
function inUnit(value, heading) {
  const unit = heading.split(", ").slice(-1)[0], units = UNITS.find((names) => names.includes(unit));
  if (!units || typeof value !== "number" || value === 0 || Math.abs(value) >= 1e-3) return number(value);
  let at = units.indexOf(unit);
  while (Math.abs(value) < 1 && at < units.length - 1) { value *= 1e3; at += 1; }
  return `${number(value)} ${units[at]}`;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// --- What was asked ------------------------------------------------------------------------------------------------

function card(result) {
  const box = element("article", null, { class: "card" });
  box.append(element("h3", several ? result.name : result.title || result.name));
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

// A machine at its own size: its text is as large as that of the page.
function drawing(result, name, src) {
  const made = element("figure"), words = [several ? result.name : "", name].filter(Boolean).join(": ");
  made.append(element("img", null, { src, alt: words ? `The machine ${words}` : "The machine" }));
  if (words) made.append(element("figcaption", words));
  return made;
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
  for (const result of data.results) for (const [name, src] of result.drawings) byId("machines").append(drawing(result, name, src));
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
      const vague = row.vague[place] && value !== null ? "saturated" : "";
      const heading = data.quantities[place][1];
      cells.push({ value, text: inUnit(value, heading), small: [half === null ? "" : `± ${inUnit(half, heading)}`, vague].filter(Boolean).join(", ") });
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
  const rows = found.rows.map(([settings, heading, one, other, relative, half, p, mark, notes, vague]) => {
    const side = (value, place) => ({ ...plain(value), small: vague[place] && value !== null ? "saturated" : "" });
    const percent = relative === null ? (one === null || other === null ? "–" : number(other - one)) : `${relative > 0 ? "+" : ""}${(100 * relative).toFixed(2)} %`;
    const change = { value: relative, text: percent, small: half === null || !one ? "" : `± ${((100 * half) / Math.abs(one)).toFixed(2)} %` };
    const sure = { value: p, text: p === null ? "–" : p < 1e-4 ? "< 0.0001" : p.toFixed(4) };
    return { cells: [...settings.map(plain), plain(heading), side(one, 0), side(other, 1), change, sure, plain(mark), plain(notes)], class: mark.startsWith("*") ? "sure" : "" };
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
