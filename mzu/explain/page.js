"use strict";
// Fills the sections of page.html from the record that is embedded in the page. `walk` says where the page stands in a
// run; it is null in a page that was written to a file, and so is `record` where there was nothing to explain.

const record = JSON.parse(document.getElementById("record").textContent);
const walk = JSON.parse(document.getElementById("walk-record").textContent);
const SVG = "http://www.w3.org/2000/svg";
const FEW = 8; // so many candidates are shown at once; of more, the reader opens what is wanted
const state = { simulations: 0, opened: new Map(), timer: 0, byPointer: false };

// ---- building blocks

function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function put(id, ...children) {
  document.getElementById(id).replaceChildren(...children.filter((child) => child !== null));
}

function digits(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return String(value);
  if (size >= 1e-4 && size < 1e6) return String(Number(value.toPrecision(4)));
  const [mantissa, exponent] = value.toExponential(3).split("e");
  return `${Number(mantissa)}e${Number(exponent)}`;
}

// Four digits to read; all of them in the title and in data-value.
function number(value, missing = "not there") {
  if (value === null || value === undefined) return make("span", { class: "number faint", title: missing }, "–");
  return make("span", { class: "number", title: String(value), "data-value": String(value) }, digits(value));
}

function actionText(action) {
  if (!Array.isArray(action)) return digits(action);
  return action.length === 1 ? digits(action[0]) : `(${action.map(digits).join(", ")})`;
}

function action(value) {
  const exact = JSON.stringify(value);
  return make("span", { class: "number", title: exact, "data-value": exact }, actionText(value));
}

function cell(content) {
  return typeof content === "number" || content === null ? number(content) : content;
}

// What is read from the left, unlike numbers.
function words(...parts) {
  return make("div", { class: "words" }, ...parts);
}

function tableRow(cells, className) {
  const [first, ...others] = cells.map(cell);
  const row = make("tr", { class: className || null }, make("th", { scope: "row" }, first));
  row.append(...others.map((content) => make("td", {}, content)));
  return row;
}

// Rows are lists of cells, or { cells, className }. The first cell is the row's heading.
function table(label, heads, rows) {
  const body = rows.map((row) => (Array.isArray(row) ? tableRow(row) : tableRow(row.cells, row.className)));
  const isText = heads.map((_, column) => body.some((row) => row.cells[column].querySelector(":scope > .words")));
  const kinds = isText.map((is) => (is ? "words" : null));
  const head = make("tr", {}, ...heads.map((text, column) => make("th", { scope: "col", class: kinds[column] }, text)));
  const parts = [make("caption", { class: "unseen" }, label), make("thead", {}, head), make("tbody", {}, ...body)];
  return make("div", { class: "scroll", role: "region", "aria-label": label }, make("table", {}, ...parts));
}

function facts(pairs) {
  const parts = pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, cell(value))));
  return make("dl", { class: "facts" }, ...parts);
}

function formula(text) {
  return make("p", { class: "formula" }, text);
}

function mark(text) {
  return make("span", { class: "mark" }, text);
}

function together(...parts) {
  return make("span", {}, ...parts.map(cell));
}

function folded(title, isOpen, ...content) {
  return fill(make("details", {}, make("summary", {}, title), ...content), isOpen ? { open: "" } : {}, []);
}

function shareList(actions, shares) {
  const entry = (name, place) => make("li", {}, action(name), ": ", number(shares[place]));
  return make("ul", { class: "shares" }, ...actions.map(entry));
}

// ---- pictures

// Parts side by side from 0 to the right, negative ones to the left; `low` and `high` are the ends of the scale.
function stackedBar(parts, low, high) {
  const [width, height] = [80, 12];
  const x = (value) => (high > low ? ((value - low) / (high - low)) * width : 0);
  const picture = draw("svg", { class: "chart", width, height, "aria-hidden": "true" });
  let [right, left] = [0, 0];
  for (const [kind, value] of parts) {
    const from = value < 0 ? (left += value) : right;
    if (value > 0) right += value;
    const size = x(from + Math.abs(value)) - x(from);
    picture.append(draw("rect", { class: kind, x: x(from), y: 1, width: size, height: height - 2 }));
  }
  picture.append(draw("path", { class: "axis", d: `M${x(0)} 0V${height}` }));
  return picture;
}

// Predicted shares as bars, target shares as pins.
function sharesChart(label, names, predicted, target) {
  const [width, height, base] = [200, 74, 58];
  const column = width / names.length;
  const scale = (base - 6) / Math.max(...predicted, ...target);
  const picture = draw("svg", { class: "chart", width, height, role: "img", "aria-label": label });
  names.forEach((name, place) => {
    const [tall, pin] = [predicted[place] * scale, target[place] * scale];
    const middle = (place + 0.5) * column;
    const text = `${name}: predicted ${digits(predicted[place])}, target ${digits(target[place])}`;
    const bar = { class: "predicted", x: middle - column * 0.4, width: column * 0.8, y: base - tall, height: tall };
    const group = draw("g", {}, draw("title", {}, text), draw("rect", bar));
    group.append(draw("rect", { x: place * column, y: 0, width: column, height: base, fill: "transparent" }));
    if (pin > 0) group.append(...pinAt(middle, base, base - pin));
    picture.append(group);
  });
  picture.append(draw("path", { class: "axis", d: `M0 ${base}H${width}` }), ...chartLabels(names, column, height));
  return picture;
}

function pinAt(x, base, top) {
  const line = draw("path", { class: "target", d: `M${x} ${base}V${top}` });
  return [line, draw("circle", { class: "target", cx: x, cy: top, r: 2 })];
}

function chartLabels(names, column, height) {
  const shown = names.length * 26 < column * names.length ? names.keys() : [0, names.length - 1];
  return [...shown].map((place) => {
    const isEnd = names.length > 8 && (place === 0 || place === names.length - 1);
    const anchor = isEnd ? (place === 0 ? "start" : "end") : "middle";
    const x = isEnd ? (place === 0 ? 0 : column * names.length) : (place + 0.5) * column;
    return draw("text", { x, y: height - 4, "text-anchor": anchor }, names[place]);
  });
}

// The categories -M..M without the ends in which neither has a hundredth.
function scalarChart(label, head) {
  const half = (head.distribution.length - 1) / 2;
  const from = emptyEnd(head.distribution, head.target_distribution);
  const to = 2 * half + 1 - emptyEnd(head.distribution.toReversed(), head.target_distribution.toReversed());
  const names = head.distribution.map((_, place) => String((place - half) / (head.bins_per_unit ?? 1))).slice(from, to);
  return sharesChart(label, names, head.distribution.slice(from, to), head.target_distribution.slice(from, to));
}

function emptyEnd(predicted, target) {
  let [count, sum] = [0, predicted[0] + target[0]];
  while (sum < 0.01) sum += predicted[++count] + target[count];
  return count;
}

// One dimension of a Gaussian policy over [-1, 1], and the weights of the actions it is trained towards.
function gaussianChart(label, mean, scale, actions, weights) {
  const [width, height, base] = [200, 74, 58];
  const x = (value) => ((Math.max(-1.2, Math.min(1.2, value)) + 1.2) / 2.4) * width;
  const density = (value) => Math.exp(-0.5 * ((value - mean) / scale) ** 2) * (base - 8);
  const points = Array.from({ length: 97 }, (_, place) => -1.2 + place / 40);
  const line = points.map((value) => `${x(value).toFixed(1)} ${(base - density(value)).toFixed(1)}`).join("L");
  const picture = draw("svg", { class: "chart", width, height, role: "img", "aria-label": label });
  picture.append(draw("path", { class: "curve", d: `M${line}` }));
  picture.append(draw("path", { class: "axis", d: `M0 ${base}H${width}` }));
  const most = Math.max(...weights, 1e-12);
  actions.forEach((value, place) => {
    if (weights[place] <= 0) return;
    const top = base - (weights[place] / most) * (base - 8);
    const title = draw("title", {}, `${digits(value)}: weight ${digits(weights[place])}`);
    picture.append(draw("g", {}, title, ...pinAt(x(value), base, top)));
  });
  for (const value of [-1, 0, 1]) {
    picture.append(draw("text", { x: x(value), y: height - 4, "text-anchor": "middle" }, String(value)));
  }
  return picture;
}

// The observation's bytes [height, width, channels] as pictures: one for each frame where its planes have names and
// colours, in colours where a frame has three channels, else each channel in grey.
function pictures(observation, frames) {
  const [height, width, channels] = observation.shape;
  const bytes = Uint8Array.from(atob(observation.base64), (letter) => letter.charCodeAt(0));
  if (observation.planes) return pictureOfPlanes(observation, bytes, frames);
  const inColour = channels / frames === 3;
  const count = inColour ? frames : channels;
  const box = make("div", { class: "pictures" });
  for (let place = 0; place < count; place++) {
    const channelsOf = inColour ? [3 * place, 3 * place + 1, 3 * place + 2] : [place, place, place];
    const name = inColour ? `frame ${place + 1} of ${count}` : `channel ${place + 1} of ${count}`;
    const drawn = picture(bytes, height, width, channels, channelsOf, name);
    box.append(make("figure", {}, drawn, make("figcaption", {}, name)));
  }
  return box;
}

function picture(bytes, height, width, channels, channelsOf, name) {
  return painted(height, width, name, (pixel) => channelsOf.map((channel) => bytes[pixel * channels + channel]));
}

// Every plane in its colour, black where nothing is; the first planes lie on top, as in `environments/minatar.py`.
function pictureOfPlanes(observation, bytes, frames) {
  const [height, width, channels] = observation.shape;
  const colours = observation.planes.map(([, colour]) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
  const box = make("div", { class: "pictures" });
  for (let frame = 0; frame < frames; frame++) {
    const name = frames === 1 ? "its planes in colours" : `frame ${frame + 1} of ${frames}`;
    const drawn = painted(height, width, name, (pixel) => {
      const first = pixel * channels + frame * colours.length;
      return colours.find((_, plane) => bytes[first + plane]) || [0, 0, 0];
    });
    box.append(make("figure", {}, drawn, make("figcaption", {}, name)));
  }
  const legend = make("ul", { class: "legend", "aria-label": "Planes of the picture" });
  observation.planes.forEach(([name, colour]) => {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = colour;
    legend.append(make("li", {}, swatch, name));
  });
  box.append(legend);
  return box;
}

// A picture whose pixels have the colours [red, green, blue] that a function says.
function painted(height, width, name, colourOf) {
  const canvas = make("canvas", { width, height, role: "img", "aria-label": `Observation, ${name}` });
  const zoom = Math.max(1, Math.floor(160 / Math.max(height, width)));
  canvas.style.width = `${zoom * width}px`;
  const pixels = new ImageData(width, height);
  for (let pixel = 0; pixel < height * width; pixel++) {
    pixels.data.set([...colourOf(pixel), 255], 4 * pixel);
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

// ---- top of the page

function showSummary() {
  const { about, position, result, value_target, priority, loss } = record;
  const z = value_target.steps[0];
  const tiles = [
    ["action taken", action(position.action)],
    ["reward", number(position.reward)],
    ["search value ν", number(result && result.value, "nothing was searched")],
    ["value target z", number(z.target)],
    ["probability P", number(priority && priority.probability, "not in the replay")],
    ["loss", number(loss.total)],
  ];
  put("summary", ...tiles.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  put("origin", `${[about.environment ?? about.data, about.system].filter((word) => word).join(" · ")} · after ${about.steps} learner steps`);
}

function showFlags() {
  const found = record.checks.filter((check) => check.flag);
  if (!found.length) {
    const sentence = `All ${record.checks.length} checks found nothing wrong.`;
    put("flags", make("p", {}, make("a", { href: "#checks" }, sentence)));
    return;
  }
  const items = found.map((check) => make("li", {}, make("strong", {}, check.name), `: ${check.says}`));
  const heading = `${found.length} of ${record.checks.length} checks found something`;
  const box = make("div", { class: "flagged", role: "note" }, make("strong", { class: "flag" }, heading));
  box.append(make("ul", {}, ...items));
  put("flags", box);
}

function showContents() {
  const links = [...document.querySelectorAll("main section:not([hidden])")].map((section) =>
    make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
  put("contents", ...links);
}

// ---- sections

function showAbout() {
  const { about } = record;
  put("about-facts", facts([
    ["system", about.system],
    ["environment", about.environment ?? "none"],
    ["data", about.data ?? "none"],
    ["learner steps", about.steps],
    ["target network of step", about.target_steps],
    ["compared with checkpoint", about.compared_with ?? "none"],
    ["episodes", about.episodes],
  ]));
  const rows = settings(about.config).map(([name, value]) => [name, words(JSON.stringify(value))]);
  put("settings", table("Settings", ["setting", "value"], rows));
}

function settings(config, prefix = "") {
  return Object.entries(config).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? settings(value, `${prefix}${name}.`)
      : [[prefix + name, value]]);
}

function showPosition() {
  const { position } = record;
  const [start, stop] = position.segment;
  const ending = position.terminated ? "; the episode terminates here" : position.truncated ? "; truncated here" : "";
  put("position-facts", facts([
    ["episode", together(position.episode, ", return ", position.episode_return, `, ${position.episode_ends}`)],
    ["step", together(position.step, ` of ${position.episode_steps}, ${position.steps_to_the_end} to the end`, ending)],
    ["segment", `steps ${start} to ${stop - 1}; a segment holds up to ${position.segment_length}`],
    ["action", action(position.action)],
    ["reward", position.reward],
    ["copies in the replay", position.in_replay],
    ["source", position.source],
  ]));
  const { observation } = position;
  const frames = record.about.config.network.frame_stack;
  put("observation", make("p", { class: "faint" }, `${observation.dtype}, shape [${observation.shape.join(", ")}]`),
    observation.base64 ? pictures(observation, frames) : numbersTable(observation.values.flat(Infinity)));
}

function numbersTable(values) {
  const columns = Math.min(10, values.length);
  const isOneRow = values.length === columns;
  const rows = [];
  for (let start = 0; start < values.length; start += columns) {
    rows.push([isOneRow ? "value" : String(start), ...values.slice(start, start + columns)]);
  }
  const heads = ["number", ...Array.from({ length: columns }, (_, place) => (isOneRow ? String(place) : `+ ${place}`))];
  const numbers = table("Observation", heads, rows);
  return values.length > 100 ? folded(`${values.length} numbers`, false, numbers) : numbers;
}

// Heading, and the cell of a candidate; a column appears where some candidate has it.
const CANDIDATE_COLUMNS = [
  ["drawn", "drawn"], ["pi", "π"], ["beta", "β"], ["beta_hat", "β̂"], ["pi_over_beta", "π / β"],
  ["proposed", "proposed"], ["noise", "noise"], ["shared", "share"], ["prior", "prior"],
  ["searched_prior", "prior read"], ["first_q", "first Q"], ["visits", "visits"], ["q", "Q"],
  ["advantage", "advantage"], ["policy", "policy"],
];

function showRoot() {
  const { root } = record;
  const columns = CANDIDATE_COLUMNS.filter(([key]) => root.candidates.some((candidate) => key in candidate))
    .filter(([key]) => key !== "searched_prior" || root.candidates.some(readsAnotherPrior));
  const rows = root.candidates.map((candidate) => ({
    cells: [candidateName(candidate), ...columns.map(([key]) => candidateCell(candidate, key))],
    className: readsAnotherPrior(candidate) ? "flag" : "",
  }));
  const isNoisy = "noise_fraction" in root;
  put("root-facts", facts([
    ["raw value", root.raw_value],
    ...policyFacts(root.policy),
    ["temperature", root.temperature],
    isNoisy ? ["noise fraction", root.noise_fraction] : ["injected prior", root.injected_prior],
  ]), formula(root.formula), formula(root.noise_formula), ...(root.first_formula ? [formula(root.first_formula)] : []));
  put("candidates", table("Candidates of the root", ["action", ...columns.map(([, name]) => name)], rows));
}

function readsAnotherPrior(candidate) {
  return Math.abs(candidate.prior - candidate.searched_prior) > 1e-4;
}

function candidateName(candidate) {
  const name = together(action(candidate.action));
  if (candidate.injected) name.append(mark("injected"));
  if (candidate.clipped) name.append(mark("clipped"));
  return name;
}

function candidateCell(candidate, key) {
  const value = candidate[key];
  if (!Array.isArray(value)) return number(value, ["q", "first_q"].includes(key) ? "never evaluated" : "only injected");
  return together(...value.flatMap((ratio, place) => (place ? [", ", ratio] : [ratio])));
}

function policyFacts(policy) {
  if (policy.pi) return [["policy π", shareList(policy.pi.map((_, place) => place), policy.pi)]];
  return [["policy mean", action(policy.mean)], ["policy scale", action(policy.scale)]];
}

function showSimulations(count) {
  const total = record.simulations.length;
  state.simulations = Math.max(0, Math.min(total, count));
  const simulation = state.simulations ? record.simulations[state.simulations - 1] : null;
  document.getElementById("slider").value = state.simulations;
  put("shown", total ? `after ${state.simulations} of ${total} simulations` : "of one step, without simulations");
  document.getElementById("first").disabled = document.getElementById("back").disabled = state.simulations === 0;
  document.getElementById("last").disabled = document.getElementById("forward").disabled = state.simulations === total;
  put("tree", document.querySelector(`template[data-simulations="${state.simulations}"]`).content.cloneNode(true));
  put("path-heading", simulation ? `Path of simulation ${state.simulations}` : "Path");
  put("bounds", ...boundsText(simulation));
  put("path", ...(simulation ? simulation.path.map(pathStep) : []));
  put("leaf", ...(simulation ? leafParts(simulation.leaf) : [nothingYet()]));
  put("backup", simulation ? backupTable(simulation) : nothingYet());
  clearTimeout(state.timer);
  const hasAddress = location.protocol !== "about:"; // a page inside of a notebook has none
  if (hasAddress) state.timer = setTimeout(() => history.replaceState(null, "", simulationsHash()), 300);
  showNeighbours();
  reachByKeyboard();
}

// Part of the address, so that a link leads to the same simulation. Browsers refuse hundreds of changes in a row.
function simulationsHash() {
  return record && record.simulations ? `#simulations=${state.simulations}` : "";
}

function nothingYet() {
  const words = record.simulations.length ? "Nothing yet: no simulation has left the root." : "A search of one step has no simulations.";
  return make("p", { class: "faint" }, words);
}

function boundsText(simulation) {
  if (!simulation) return [nothingYet()];
  const { normaliser, selection } = record.about.config.search;
  if (normaliser === "siblings" || selection === "gumbel") {
    return ["Values are normalised among the candidates of each node."];
  }
  if (!simulation.bounds) return ["No value was backed up before, so values are not normalised yet."];
  const [low, high] = simulation.bounds;
  return ["Values seen so far lie in ", number(low), " .. ", number(high), "; this range becomes 0 .. 1."];
}

function pathStep(step, depth) {
  const chosen = step.candidates.find((candidate) => candidate.candidate === step.chosen);
  const ends = step.candidates.map((candidate) => [
    Math.min(0, candidate.value_term) + Math.min(0, candidate.prior_term),
    Math.max(0, candidate.value_term) + Math.max(0, candidate.prior_term),
  ]);
  const low = Math.min(0, ...ends.map(([end]) => end));
  const high = Math.max(...ends.map(([, end]) => end));
  const rows = step.candidates.map((candidate) => scoreRow(candidate, candidate === chosen, low, high));
  const heads = ["action", "prior", "n", "value term", "prior term", "score", ""];
  const title = make("span", {}, `node ${step.node} (N = ${step.visits}) → action `, action(chosen.action), ": ",
    number(chosen.value_term), " + ", number(chosen.prior_term), " = ", number(chosen.score));
  const isOpen = state.opened.get(depth) ?? (depth === 0 || step.candidates.length <= FEW);
  const box = folded(title, isOpen, table(`Scores at node ${step.node}`, heads, rows));
  box.className = "step";
  box.addEventListener("toggle", () => { state.opened.set(depth, box.open); reachByKeyboard(); });
  return box;
}

function scoreRow(candidate, isChosen, low, high) {
  const name = together(action(candidate.action));
  if (isChosen) name.append(mark("chosen"));
  const bar = stackedBar([["value-term", candidate.value_term], ["prior-term", candidate.prior_term]], low, high);
  const { prior, visits, value_term, prior_term, score } = candidate;
  const cells = [name, prior, visits, value_term, prior_term, score, bar];
  return { cells, className: isChosen ? "chosen" : "" };
}

function leafParts(leaf) {
  const shares = shareList(leaf.policy.map((entry) => entry.action), leaf.policy.map((entry) => entry.prior));
  const list = leaf.policy.length > FEW ? folded(`${leaf.policy.length} candidates`, false, shares) : shares;
  return [facts([["node", leaf.node], ["reached by action", action(leaf.action)], ["reward", leaf.reward],
    ["value", leaf.value], ["priors of its candidates", list]])];
}

function backupTable(simulation) {
  const rows = simulation.backup.map((step) => [
    step.node, step.reward, step.return, together(step.visits - 1, " → ", step.visits),
    together(step.value_before, " → ", step.value), step.q,
  ]);
  const heads = ["node", "reward", "return G", "visits", "value", "Q of the action"];
  return table("Backup, from the leaf up to the root", heads, rows);
}

// Of the operator that makes the improved policy; which of them there are depends on the operator.
const OPERATOR_NUMBERS = [["scale", "scale"], ["spread", "spread"], ["temperature", "temperature"], ["clip", "clip"],
  ["stored_value", "what really followed"]];

function showResult() {
  const { result, tree } = record;
  // The search has room for more candidates than the root may have.
  const rows = tree.edges[0].map(({ candidate, action: name }) => {
    const [visits, share] = [result.visits[candidate], result.policy[candidate]];
    return [action(name), visits, share, stackedBar([["value-term", share]], 0, Math.max(...result.policy))];
  });
  const numbers = OPERATOR_NUMBERS.filter(([key]) => key in result).map(([key, name]) => [name, result[key]]);
  put("result-facts", formula(result.formula), result.stored_formula ? formula(result.stored_formula) : null,
    facts([["search value ν", result.value], ...numbers]),
    table("Visits and policy", ["action", "visits", "policy", ""], rows));
}

function showPolicyTargets() {
  const { policy_target } = record;
  const rows = policy_target.steps.map((entry) => ({
    cells: [`${entry.k}`, weightsOf(entry), words(entry.why)],
    className: entry.mask ? "" : "masked",
  }));
  put("policy-targets", make("p", {}, `Policy loss: ${policy_target.loss}. Targets from ${policy_target.from}.`),
    table("Policy targets", ["k", "weight of each action", "why"], rows));
}

function weightsOf(entry) {
  if (!entry.mask) return words("masked: not trained");
  const places = [...entry.weights.keys()].filter((place) => entry.weights[place] > 0);
  const list = shareList(places.map((place) => entry.actions[place]), places.map((place) => entry.weights[place]));
  const isPart = places.length < entry.weights.length;
  return words(list, isPart ? make("span", { class: "faint" }, "all others 0") : null);
}

function showValueTargets() {
  const target = record.value_target;
  const about = [["n (td_steps)", target.td_steps], ["discount", target.discount],
    ["target network of step", target.target_network], ["from", target.from]];
  put("value-targets", formula(target.formula), facts(about), ...target.steps.map(valueTarget));
}

function valueTarget(entry) {
  const box = make("div", { class: entry.mask ? "target-step" : "target-step masked", "data-k": entry.k });
  const terms = entry.terms.map((term) =>
    sumTerm(term.factor, term.reward, term.i, `reward of step ${entry.step + term.i}`));
  if (entry.bootstrap) terms.push(bootstrapTerm(entry));
  if (!terms.length) terms.push(make("span", { class: "term" }, number(entry.total), make("small", {}, "ν")));
  const line = make("p", { class: "sum" }, ...terms.flatMap((term, place) => (place ? ["+", term] : [term])));
  line.append(make("strong", { class: "total" }, "= ", number(entry.total)));
  const target = make("span", { class: "given" }, number(entry.target));
  const given = make("p", {}, "The learner is given ", target, ` (${entry.why}).`);
  if (!entry.mask) given.append(mark("masked: not trained"));
  box.append(make("h3", {}, `k = ${entry.k}, step ${entry.step}`), line, given);
  return box;
}

function sumTerm(factor, value, power, what) {
  const caption = make("small", {}, "γ", make("sup", {}, String(power)), ` · ${what}`);
  return make("span", { class: "term" }, make("span", {}, number(factor), " × ", number(value)), caption);
}

function bootstrapTerm(entry) {
  const { factor, value, steps_later, masked } = entry.bootstrap;
  const where = `value of step ${entry.step + steps_later}`;
  const term = sumTerm(factor, value, steps_later, masked ? `${where}: dropped` : where);
  term.classList.add(masked ? "dropped" : "bootstrap");
  return term;
}

function showPriority() {
  const { priority } = record;
  if (!priority) {
    put("priority-facts", make("p", {}, "The replay does not hold this position, so it has no priority and weight 1."));
    return;
  }
  const { uniform_share: share, to_the_alpha: power, total, positions, probability, beta, weight } = priority;
  put("priority-facts", formula(priority.formula), facts([
    ["p of now", together("|", priority.search_value, " - ", priority.compared_with, "| = ", priority.now)],
    [together("p", make("sup", {}, "α"), " in the replay"), together(power, ", α = ", priority.alpha)],
    ["P", together("(1 - ", share, ") × ", power, " / ", total, " + ", share, " / ", positions, " = ", probability)],
    ["weight", together("(1 / (", positions, " × ", probability, "))", make("sup", {}, number(beta)), " = ", weight)],
  ]));
}

const HEADS = { policy: "policy", value: "value", reward: "reward", action_value: "action value" };

function showLoss() {
  const { loss } = record;
  const heads = Object.keys(HEADS).filter((head) => loss.steps.some((step) => head in step.adds));
  const sums = loss.steps.map((step) => heads.reduce((sum, head) => sum + (step.adds[head] ?? 0), 0));
  const rows = loss.steps.map((step, place) => {
    const bar = stackedBar([["value-term", sums[place]]], 0, Math.max(...sums));
    return [String(step.k), step.factor, ...heads.map((head) => number(step.adds[head])), sums[place], bar];
  });
  const total = make("strong", { id: "loss-total" }, number(loss.total));
  put("loss-table", formula(loss.formula),
    make("p", {}, `Against the targets of ${loss.from}. Each number is what is added, its factor included.`),
    table("What each head adds", ["k", "factor", ...heads.map((head) => HEADS[head]), "together", ""], rows),
    make("p", {}, "weight ", number(loss.weight), " × ", number(loss.unweighted), " = ", total));
  put("loss-charts", table("Predicted and target", ["k", "policy", "value", "reward"], loss.steps.map(chartRow)));
}

function chartRow(step) {
  const target = record.policy_target.steps[step.k];
  const policy = target.mask ? policyCharts(step, target) : words("masked: not trained");
  return [String(step.k), policy, scalarCell(`value at k = ${step.k}`, step.value),
    step.reward ? scalarCell(`reward at k = ${step.k}`, step.reward) : words("none")];
}

function scalarCell(label, head) {
  const chart = head.distribution ? scalarChart(label, head) : null;
  return words("predicted ", number(head.predicted), ", target ", number(head.target), chart);
}

function policyCharts(step, target) {
  const label = `policy at k = ${step.k}`;
  const { pi, mean, scale } = step.policy;
  if (pi) {
    const weights = pi.map(() => 0);
    target.actions.forEach((name, place) => (weights[name] += target.weights[place]));
    return words("by action", sharesChart(label, pi.map((_, name) => String(name)), pi, weights));
  }
  return words(...mean.map((middle, dimension) => make("div", {},
    mean.length > 1 ? `dimension ${dimension}: ` : "", "mean ", number(middle), ", scale ", number(scale[dimension]),
    gaussianChart(label, middle, scale[dimension], target.actions.map((name) => name[dimension]), target.weights))));
}

function showChange() {
  const { change, about } = record;
  if (!change) {
    const reasons = "the replay does not hold this position, and no other checkpoint was given";
    put("change-facts", make("p", {}, `There is nothing to compare with: ${reasons}.`));
    return;
  }
  const names = [change.old, `${change.new} (checkpoint ${about.steps})`];
  const scalars = ["search_value", "value_target"].map((key) => {
    const [old, now] = [change[`old_${key}`], change[`new_${key}`]];
    return [key.replace("_", " "), old, now, now - old];
  });
  const shares = changedShares(change);
  const most = Math.max(...shares.flatMap(({ old, now }) => [old, now]));
  const rows = shares.map(({ name, old, now }) => [action(name), old, now, now - old, pairOfBars(old, now, most)]);
  put("change-facts", make("p", {}, `The targets of ${names[0]}, and those of ${names[1]}.`),
    table("Values, old and new", ["", ...names, "difference"], scalars),
    facts([["total variation of the policies", change.total_variation]]),
    make("p", { class: "legend" }, make("span", { class: "key prior-term" }), ` ${names[0]} `,
      make("span", { class: "key value-term" }), ` ${names[1]}`),
    table("Policy, old and new", ["action", ...names, "difference", ""], rows));
}

// Old and new share of every action that either knows; an action that was drawn twice counts once.
function changedShares(change) {
  const shares = new Map();
  for (const [place, kind] of [["old", "old"], ["now", "new"]]) {
    change[`${kind}_actions`].forEach((name, number) => {
      const entry = shares.get(JSON.stringify(name)) ?? { name, old: 0, now: 0 };
      entry[place] += change[`${kind}_policy`][number];
      shares.set(JSON.stringify(name), entry);
    });
  }
  return [...shares.values()].filter(({ old, now }) => old > 0 || now > 0);
}

function pairOfBars(old, now, most) {
  return make("div", {}, stackedBar([["prior-term", old]], 0, most), stackedBar([["value-term", now]], 0, most));
}

function showChecks() {
  const ordered = [...record.checks.filter((check) => check.flag), ...record.checks.filter((check) => !check.flag)];
  const rows = ordered.map((check) => ({
    cells: [check.name, words(check.flag ? make("span", { class: "flag" }, "Found: ") : null, check.says)],
    className: check.flag ? "found" : "",
  }));
  put("check-list", table("Checks", ["check", "what it saw"], rows));
}

// ---- walking through a run

function address(changes) {
  const { episode, step, checkpoint, compare } = { ...walk, ...changes };
  const query = new URLSearchParams({ episode, step, checkpoint, ...(compare ? { compare } : {}) });
  return `/?${query}${simulationsHash()}`;
}

function neighbours() {
  const { episode, step, steps, episodes } = walk;
  return {
    "previous step": step > 0 ? { step: step - 1 } : null,
    "next step": step + 1 < steps ? { step: step + 1 } : null,
    "previous episode": episode > 0 ? { episode: episode - 1, step: 0 } : null,
    "next episode": episode + 1 < episodes ? { episode: episode + 1, step: 0 } : null,
  };
}

function showNeighbours() {
  if (!walk || !record) return;
  const links = Object.entries(neighbours()).map(([name, changes]) =>
    changes ? make("a", { href: address(changes) }, name) : make("span", { class: "faint" }, name));
  put("neighbours", ...links);
}

function showChoice() {
  const form = document.getElementById("choice");
  const checkpoints = walk.checkpoints.map((steps) => new Option(steps));
  form.checkpoint.append(new Option("latest"), ...checkpoints);
  form.compare.append(new Option("the replay", ""), ...checkpoints.map((option) => option.cloneNode(true)));
  // A checkpoint that does not exist is not chosen silently as another one.
  form.checkpoint.value = walk.checkpoint;
  form.compare.value = walk.compare;
  form.episode.value = walk.episode;
  form.step.value = walk.step;
  if (walk.episodes) form.episode.max = walk.episodes - 1;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    leave(address(Object.fromEntries(new FormData(form))));
  });
  document.getElementById("walk").hidden = false;
}

// The next page opens where this one was being read.
function leave(target) {
  sessionStorage.setItem("scrolled", String(window.scrollY));
  document.body.classList.add("leaving");
  location.assign(target);
}

function walkTo(name) {
  const changes = walk && record && neighbours()[name];
  if (changes) leave(address(changes));
}

function scrollBack() {
  const scrolled = sessionStorage.getItem("scrolled");
  sessionStorage.removeItem("scrolled");
  if (scrolled !== null) window.scrollTo({ top: Number(scrolled), behavior: "instant" });
}

// ---- keyboard and controls

function moves() {
  const total = record.simulations.length;
  return { ArrowLeft: state.simulations - 1, ArrowRight: state.simulations + 1, Home: 0, End: total };
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  if (event.target.matches("select, input[type=number]")) return;
  if (event.key === "Tab") state.byPointer = false;
  // A box that was reached by keyboard is scrolled by the arrows; one that was clicked on is not.
  const hasArrows = event.target.matches(".scroll") && !state.byPointer;
  if (record && record.simulations && event.key in moves() && !hasArrows) {
    event.preventDefault();
    showSimulations(moves()[event.key]);
  }
  if (event.key === "j") walkTo("next step");
  if (event.key === "k") walkTo("previous step");
}

// A box that can be scrolled must be reachable without a mouse.
function reachByKeyboard() {
  for (const box of document.querySelectorAll(".scroll")) {
    const isWide = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (isWide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

function startSimulations() {
  const total = record.simulations.length;
  const asked = /^#simulations=(\d+)$/.exec(location.hash);
  const slider = document.getElementById("slider");
  slider.max = total;
  slider.addEventListener("input", () => showSimulations(Number(slider.value)));
  const buttons = { first: "Home", back: "ArrowLeft", forward: "ArrowRight", last: "End" };
  for (const [id, key] of Object.entries(buttons)) {
    document.getElementById(id).addEventListener("click", () => showSimulations(moves()[key]));
  }
  showSimulations(asked ? Number(asked[1]) : total);
}

function showNoSearch() {
  for (const id of ["simulations", "result"]) document.getElementById(id).hidden = true;
  const { loss } = record.policy_target;
  const sentence = `Nothing is searched: with the policy loss ${loss} no target needs it.`;
  document.getElementById("root").replaceChildren(make("h2", {}, "Root"), make("p", {}, sentence));
}

function showRecord() {
  document.getElementById("content").hidden = false;
  showSummary();
  showFlags();
  showAbout();
  showPosition();
  if (record.root) {
    showRoot();
    startSimulations();
    showResult();
  } else {
    showNoSearch();
  }
  showPolicyTargets();
  showValueTargets();
  showPriority();
  showLoss();
  showChange();
  showChecks();
  showContents();
  reachByKeyboard();
}

function start() {
  document.getElementById("mistake").hidden = record !== null;
  document.getElementById("simulation-keys").hidden = !(record && record.root);
  document.getElementById("walk-keys").hidden = !(walk && record);
  document.getElementById("keys").hidden = !(record && (record.root || walk));
  if (walk) showChoice();
  if (record) showRecord();
  showNeighbours();
  scrollBack();
  document.addEventListener("keydown", onKey);
  document.addEventListener("pointerdown", () => { state.byPointer = true; });
  window.addEventListener("resize", reachByKeyboard);
}

start();
