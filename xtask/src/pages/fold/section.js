// Draws the runs that lie in #fold-data: places (lanes, slots, tickets, the answer), what they hold after a step, and where that came from.
const $ = (id) => document.getElementById(`fold-${id}`);
const section = document.getElementById("fold");
const data = JSON.parse($("data").textContent);
const LANES = 32;
const perBlock = data.warps * LANES;
const lanes = data.blocks * perBlock;
const firstSlot = lanes + data.blocks * data.warps;
const tickets = firstSlot + data.blocks;
const answerPlace = tickets + 1;
const isLane = (place) => place < lanes;
const view = { operator: 0, step: 0, chosen: null, timer: null };
let [cells, spots, layers] = [[], [], {}];
const HINT = "Point at a lane or a slot, or tap it, to see what it holds and where that came from.";
const KEYS = "Keys: ← and → step, space plays; with Shift, arrows go from lane to lane.";

// Elements: of a drawing, and of the page.
function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const node = (name, attributes, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const html = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
const row = (key, values, attributes = {}) => html("tr", {}, html("th", { class: "key" }, key), ...values.map((value) => html("td", attributes, value)));

// What all places hold after each step: what it is, which lanes' elements it covers, where it came from, and in which step.
function boards(operator) {
  let board = new Array(answerPlace + 1).fill(null);
  return operator.steps.map((step, number) => {
    const before = board;
    board = [...before];
    for (const [place, shown, from] of step.changes) {
      // A state is a number; nothing is a lane that waits, and keeps what it has.
      if (shown === null) continue;
      const held = typeof shown === "number" ? { state: shown } : shown;
      const parts = from.length ? from.map((source) => before[source].covers) : [[place, place]];
      const covers = [Math.min(...parts.map((part) => part[0])), Math.max(...parts.map((part) => part[1]))];
      board[place] = { held, from, step: number, covers };
    }
    return board;
  });
}
for (const operator of data.operators) operator.boards = boards(operator);

function name(place) {
  const [thread, slot] = [place % perBlock, place - lanes];
  if (isLane(place)) return `block ${Math.floor(place / perBlock)}, warp ${Math.floor(thread / LANES)}, lane ${thread % LANES}`;
  if (place < firstSlot) return `shared memory of block ${Math.floor(slot / data.warps)}, slot ${slot % data.warps}`;
  if (place < tickets) return `global memory, slot ${place - firstSlot}`;
  return place === tickets ? "global memory, tickets" : "global memory, answer";
}

function hue([first, last]) {
  const within = last - first < LANES - 1;
  return within ? 20 + (140 * ((first % LANES) + (last % LANES))) / (LANES - 1) : 20 + (140 * (first + last)) / (lanes - 1);
}

// All of what a place holds, and the two lines of its box.
function full(operator, place, { held }) {
  if (held.elements) return `${held.elements.reduce((sum, [, count]) => sum + count, 0)} elements`;
  if (held.columns) return `${held.columns.length} columns' states`;
  if (held.count !== undefined) return `${held.count} `;
  return place === answerPlace ? operator.answer : operator.states[held.state][2];
}

function lines(operator, place, entry) {
  if (!entry || entry.held.elements || entry.held.columns) return ["", ""];
  const all = full(operator, place, entry).trim();
  const isWhole = entry.held.count !== undefined || place === answerPlace || (!isLane(place) && all.length < spots[place].w / 6.8);
  return isWhole ? [all, ""] : operator.states[entry.held.state];
}

// A lane's elements as eight rows of four, or what its columns came to as four bars.
function dots({ x, y, w, h }, entry) {
  const pitch = (w - 6) / 4;
  const box = (column, top, high) => `M${(x + 3.75 + column * pitch).toFixed(1)} ${top}h${(pitch - 1.5).toFixed(1)}v${high}h-${(pitch - 1.5).toFixed(1)}z`;
  if (entry?.held.columns) return [0, 1, 2, 3].map((column) => box(column, y + 4, h - 8)).join("");
  const rows = entry?.held.elements ?? [];
  return rows.map(([, count], row) => [...Array(count).keys()].map((column) => box(column, y + 4 + row * 3, 2)).join("")).join("");
}

// Where everything is drawn, for a width: one row of 32 lanes for each warp, or as many as there is room for.
function layout(width) {
  const columns = width >= 1000 ? 32 : width >= 620 ? 16 : 8;
  const side = columns === 32 ? 6 : 26;
  const pitch = (width - 2 * side) / columns;
  const plan = { width, columns, high: 32, isNarrow: width < 620, y: 4, at: [], labels: [], panels: [] };
  for (let block = 0; block < data.blocks; block++) {
    const top = plan.y;
    plan.labels.push([10, top + 17, `Block ${block}`]);
    plan.y += 22;
    for (let warp = 0; warp < data.warps; warp++) {
      plan.labels.push([10, plan.y + 13, `warp ${warp}`, "quiet"]);
      if (columns !== 32) plan.y += 8;
      for (let lane = 0; lane < LANES; lane++) {
        if (lane % columns === 0) plan.y += { 32: 50, 16: 30, 8: 22 }[columns] + (lane ? plan.high : 0);
        plan.at[block * perBlock + warp * LANES + lane] = { x: side + (lane % columns) * pitch + 1, y: plan.y, w: pitch - 2, h: plan.high };
      }
      plan.y += plan.high + 6;
    }
    const bar = plan.y + 2;
    layoutShared(plan, block);
    plan.panels.push({ y: top, h: plan.y - top, bar });
    plan.y += 22;
  }
  layoutGlobal(plan);
  return plan;
}

// Shared memory, below a block's warps.
function layoutShared(plan, block) {
  const size = Math.min(190, (plan.width - 32) / data.warps - 8);
  plan.labels.push([10, plan.y + 38, `shared memory of block ${block}`, "quiet"]);
  const [x, y] = plan.isNarrow ? [10, plan.y + 44] : [190, plan.y + 18];
  for (let slot = 0; slot < data.warps; slot++) plan.at[lanes + block * data.warps + slot] = { x: x + slot * (size + 8), y, w: size, h: plan.high };
  plan.y = y + 40;
}

// Global memory, below the blocks.
function layoutGlobal(plan) {
  const { y: top, isNarrow, width } = plan;
  plan.labels.push([10, top + 17, "Global memory"]);
  let y = top + 42;
  const size = isNarrow ? (width - 32) / 2 : 190;
  const put = (place, x, w, label) => {
    plan.at[place] = { x, y, w, h: plan.high };
    plan.labels.push([x, y - 4, label, "quiet"]);
  };
  for (let slot = 0; slot < data.blocks; slot++) put(firstSlot + slot, 10 + slot * (size + 10), size, `slot of block ${slot}`);
  if (isNarrow) y += 52;
  const x = isNarrow ? 10 : 10 + data.blocks * (size + 10);
  put(tickets, x, 80, "tickets");
  put(answerPlace, x + 90, width - x - 100, "answer");
  y += plan.high + 10;
  plan.panels.push({ y: top, h: y - top });
  plan.height = y + 4;
}

function build() {
  const width = Math.max(320, $("board").clientWidth);
  const plan = layout(width);
  spots = plan.at;
  spots.columns = plan.columns;
  const marker = (id, fill) => node("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5.5, markerHeight: 5.5, orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" }, node("path", { d: "M0 0L8 4L0 8z", fill }));
  cells = spots.map(({ x, y, w, h }, place) => {
    const cell = node("g", { class: "cell", tabindex: place === (view.chosen ?? 0) ? 0 : -1, role: "button" },
      node("rect", { x, y, width: w, height: h, rx: 4 }),
      node("text", { class: "value", x: x + w / 2, y: y + 14 }), node("text", { class: "value second", x: x + w / 2, y: y + 26 }),
      node("path", { class: "dots" }));
    cell.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && choose(place));
    for (const event of ["click", "focus"]) cell.addEventListener(event, () => choose(place));
    cell.addEventListener("keydown", (event) => move(event, place));
    return cell;
  });
  const bars = plan.panels.filter(({ bar }) => bar).map(({ bar }) => node("line", { class: "barrier", x1: 10, x2: width - 10, y1: bar, y2: bar }));
  layers = { bars: node("g", {}, ...bars), arrows: node("g", {}), cells: node("g", {}, ...cells), chosen: node("g", {}) };
  $("board").replaceChildren(node("svg", { viewBox: `0 0 ${width} ${plan.height}`, role: "group", "aria-label": "Lanes and memory" },
    node("defs", {}, marker("head", "var(--arrow)"), marker("head-chosen", "var(--accent)")),
    ...plan.panels.map(({ y, h }) => node("rect", { class: "panel", x: 1, y, width: width - 2, height: h, rx: 8 })),
    ...plan.labels.map(([x, y, text, kind]) => node("text", { x, y, class: kind ?? "" }, text)),
    ...Object.values(layers)));
  show();
}

// With Shift, arrows go from place to place.
function move(event, place) {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -spots.columns, ArrowDown: spots.columns }[event.key];
  if (!by || !event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  const next = Math.min(answerPlace, Math.max(0, place + by));
  cells.forEach((cell, number) => cell.setAttribute("tabindex", number === next ? 0 : -1));
  cells[next].focus();
}

// An arrow from one place to another. Lanes of a row are joined by an arc above it.
function arrow(from, to, kind, both) {
  const [a, b] = [spots[from], spots[to]];
  const [ax, bx] = [a.x + a.w / 2, b.x + b.w / 2];
  if (a.y === b.y && isLane(from) && isLane(to)) {
    const rise = 1.3 * Math.min({ 32: 46, 16: 26, 8: 20 }[spots.columns], 9 + Math.abs(ax - bx) / 12);
    return path(`M${ax} ${a.y - 1}C${ax} ${a.y - rise} ${bx} ${b.y - rise} ${bx} ${b.y - 1}`, kind, both);
  }
  const [start, end] = b.y > a.y ? [a.y + a.h, b.y - 1] : [a.y, b.y + b.h + 1];
  const bend = (end - start) / 2;
  return path(`M${ax} ${start}C${ax} ${start + bend} ${bx} ${end - bend} ${bx} ${end}`, kind, both);
}

function path(d, kind, both) {
  const head = kind.includes("chosen") ? "url(#head-chosen)" : "url(#head)";
  return node("path", { class: `arrow ${kind}`, d, "marker-end": head, ...(both ? { "marker-start": head } : {}), pathLength: 100 });
}

// A shuffle between rows of lanes: every lane of a row with the one above or below, so one arrow at the side stands for all.
function between(upper, lower) {
  const [a, b] = [spots[upper], spots[lower]];
  const left = Math.floor((upper % LANES) / spots.columns) % 2 === 0;
  const [edge, out] = left ? [spots[0].x, spots[0].x - 18] : [spots[spots.columns - 1].x + a.w, spots[spots.columns - 1].x + a.w + 18];
  const [top, bottom] = [a.y + a.h / 2, b.y + b.h / 2];
  return path(`M${edge} ${top}C${out} ${top} ${out} ${bottom} ${edge} ${bottom}`, "big", true);
}

function drawArrows(step) {
  layers.arrows.replaceChildren();
  for (const [place, , from] of step.changes) {
    for (const source of from.filter((source) => source !== place)) {
      const pair = isLane(place) && isLane(source);
      const mutual = pair && step.changes.some(([other, , sources]) => other === source && sources.includes(place));
      if (mutual && source < place) continue;
      if (!mutual || spots[source].y === spots[place].y) layers.arrows.append(arrow(source, place, pair ? "" : "big", mutual));
      else if (place % spots.columns === 0) layers.arrows.append(between(place, source));
    }
  }
}

function show() {
  const operator = data.operators[view.operator];
  const step = operator.steps[view.step];
  const changed = new Set(step.changes.map(([place]) => place));
  const used = new Set(step.changes.flatMap(([, , from]) => from));
  cells.forEach((cell, place) => {
    const entry = operator.boards[view.step][place];
    const isSet = entry?.held.state !== undefined && operator.states[entry.held.state][0] !== "id";
    const isNew = changed.has(place);
    const classes = ["cell", isSet && "set", !isNew && !used.has(place) && "rest", isNew && (step.waits ? "waits" : "new")];
    cell.setAttribute("class", classes.filter(Boolean).join(" "));
    if (entry) cell.style.setProperty("--hue", hue(entry.covers));
    const [, value, second, dotted] = cell.children;
    [value.textContent, second.textContent] = lines(operator, place, entry);
    dotted.setAttribute("d", isLane(place) ? dots(spots[place], entry) : "");
    value.setAttribute("y", spots[place].y + (second.textContent ? 14 : 20));
    cell.setAttribute("aria-label", `${name(place)}: ${entry ? full(operator, place, entry) : "empty"}`);
  });
  layers.bars.setAttribute("visibility", step.waits ? "visible" : "hidden");
  drawArrows(step);
  const [title, text, code] = $("step").children;
  [title.textContent, text.textContent, code.textContent] = [step.title, step.text, step.code];
  const about = [["A state", operator.state], ["Identity", operator.identity], ["Combined", operator.combine]];
  $("about").replaceChildren(...about.map(([key, value]) => html("div", {}, html("b", {}, `${key}: `), value)));
  [...$("operators").children].forEach((button, number) => button.setAttribute("aria-pressed", number === view.operator));
  $("slider").max = operator.steps.length - 1;
  $("slider").value = view.step;
  $("slider").setAttribute("aria-valuetext", step.title);
  $("count").textContent = `${view.step + 1} / ${operator.steps.length}`;
  // A button that is disabled would lose the focus, and with it the keys.
  $("back").setAttribute("aria-disabled", view.step === 0);
  $("forward").setAttribute("aria-disabled", view.step === operator.steps.length - 1);
  detail();
}

const choose = (place) => ((view.chosen = place), detail());

// What the chosen place holds, and where from.
function detail() {
  const panel = $("detail");
  const operator = data.operators[view.operator];
  const place = view.chosen;
  panel.replaceChildren();
  layers.chosen.replaceChildren();
  cells.forEach((cell) => cell.classList.remove("chosen", "source"));
  if (place === null) return panel.append(html("p", {}, HINT), html("p", { class: "fold-keys" }, KEYS));
  const entry = operator.boards[view.step][place];
  cells[place].classList.add("chosen");
  panel.append(html("h3", {}, name(place)));
  if (!entry) return panel.append(html("p", {}, "Empty so far."));
  if (entry.held.elements || entry.held.columns) elements(panel, operator, place, entry);
  panel.append(html("table", {}, ...(entry.held.elements || entry.held.columns ? [] : origin(operator, place, entry))));
  entry.from.filter((source) => source !== place).forEach((source) => {
    cells[source].classList.add("source");
    layers.chosen.append(arrow(source, place, entry.step === view.step ? "chosen" : "chosen past", false));
  });
}

// What a place holds that is one state or a count, and what it is of.
function origin(operator, place, { held, from, step }) {
  const before = step > 0 ? operator.boards[step - 1] : [];
  const columns = before[from[0]]?.held.columns;
  const of = (source) => full(operator, source, before[source]);
  const origins = () => {
    if (from.length === 2) return from.map((source, i) => [`${i ? "and" : "combined:"} ${name(source)}`, of(source)]);
    if (columns) return columns.map((state, i) => [`column ${i}`, operator.states[state][2]]);
    return [held.count !== undefined ? ["drawn by", name(from[0])] : ["from", `${name(from[0])}: ${of(from[0])}`]];
  };
  const holds = [["holds", full(operator, place, { held })], ["since", `step ${step + 1}: ${operator.steps[step].title}`]];
  return [...origins(), ...holds].map(([key, value]) => row(key, [value], { class: "key" }));
}

// A lane's elements, row by row, and the states of their columns.
function elements(panel, operator, place, entry) {
  const vectors = entry.held.elements ?? operator.boards[0][place].held.elements;
  if (vectors.length === 0) panel.append(html("p", {}, "No elements: it is past the end of the array, and folds to the identity."));
  const values = ([at, count]) => data.values.slice(at, at + count).map((value) => value.toFixed(2).replace("-", "−"));
  const rows = vectors.map((vector) => row(`${vector[0]} to ${vector[0] + vector[1] - 1}`, values(vector)));
  if (entry.held.columns) rows.push(row("column's state", entry.held.columns.map((state) => operator.states[state][2])));
  panel.append(html("div", { class: "scroll" }, html("table", {}, ...rows)));
}

function go(step) {
  const { name, steps } = data.operators[view.operator];
  view.step = Math.max(0, Math.min(steps.length - 1, step));
  history.replaceState(null, "", `#fold-${name}-${view.step + 1}`);
  show();
  // Where not all fits the window, what a late step is about.
  const { changes } = steps[view.step];
  if (spots.columns === 8 && changes.length < LANES) cells[changes[0][0]].scrollIntoView({ block: "center" });
}

function stop() {
  view.timer = clearInterval(view.timer) ?? null;
  $("play").textContent = "Play";
}

function play() {
  if (view.timer) return stop();
  const last = data.operators[view.operator].steps.length - 1;
  if (view.step === last) go(0);
  $("play").textContent = "Pause";
  view.timer = setInterval(() => {
    go(view.step + 1);
    if (view.step === last) stop();
  }, 2200);
}

function start() {
  $("operators").append(...data.operators.map((operator, number) => {
    const button = html("button", { type: "button" }, operator.title);
    button.addEventListener("click", () => ((view.operator = number), go(view.step)));
    return button;
  }));
  $("back").addEventListener("click", () => (stop(), go(view.step - 1)));
  $("forward").addEventListener("click", () => (stop(), go(view.step + 1)));
  $("slider").addEventListener("input", () => (stop(), go(Number($("slider").value))));
  $("play").addEventListener("click", play);
  const [, named, step, chosen] = /^#fold-(.*?)-(\d+)(?:@(\d+))?$/.exec(location.hash) ?? [];
  const operator = data.operators.findIndex((operator) => operator.name === named);
  if (operator >= 0) [view.operator, view.step, view.chosen] = [operator, Math.min(step, data.operators[operator].steps.length) - 1, chosen ? Number(chosen) : null];
  section.addEventListener("keydown", keys);
  // What is out of sight does not go on.
  new IntersectionObserver(([seen]) => seen.isIntersecting || stop()).observe(section);
  $("live").hidden = false;
  $("stills").open = false;
  build();
  if (operator >= 0) section.scrollIntoView();
  let width = innerWidth;
  addEventListener("resize", () => innerWidth !== width && ((width = innerWidth), build()));
}

// Arrows step and space plays, while the focus is here and on nothing that takes the key itself.
function keys(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !$("live").contains(event.target)) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by) (stop(), go(view.step + by));
  else if (event.key === " " && event.target.tagName !== "BUTTON") play();
  else return;
  event.preventDefault();
}

start();
