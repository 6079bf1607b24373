// A second reader of certificates of bestleaf, written from docs/certificate.md. It has no dependencies and shares no code
// with the checker in Python. `bestleafCheck.check(text)` returns the verdict on the text of a file.
"use strict";

const bestleafCheck = (() => {
  const CLOSE = 1e-9, MARGIN = 1e-8, STOP = -1;
  class Unreadable extends Error {}
  class Refused extends Error {}
  function need(fine, reason, Kind = Refused) {
    if (!fine) throw new Kind(reason);
  }
  const close = (a, b) => Math.abs(a - b) <= CLOSE, nearly = (a, b) => Math.abs(a - b) <= CLOSE * Math.max(Math.abs(a), Math.abs(b));
  const either = (a, b) => Math.abs(a - b) <= Math.max(CLOSE, CLOSE * Math.max(Math.abs(a), Math.abs(b)));
  const sum = (list) => list.reduce((total, one) => total + one, 0);
  const largest = (list, start) => list.reduce((most, one) => (one > most ? one : most), start);
  const smallest = (list) => list.reduce((least, one) => (one < least ? one : least), Infinity);
  const range = (many) => Array.from({ length: many }, (_, place) => place);
  // ---- JSON, read so that whole numbers (BigInt) and others (Number) stay apart, and nothing is there twice
  const TOKEN = new RegExp(
    "[ \\t\\n\\r]*(?:([{}[\\],:])|(\"[^\"\\\\\\u0000-\\u001f]*(?:\\\\(?:[\"\\\\/bfnrt]|u[0-9a-fA-F]{4})[^\"\\\\\\u0000-\\u001f]*)*\")|" +
    "(-?(?:0|[1-9][0-9]*))(\\.[0-9]+)?([eE][-+]?[0-9]+)?|(true|false|null)|$)", "y");
  const expect = (fine, reason) => need(fine, reason, Unreadable);
  function parsed(text) {
    const next = () => {
      const match = TOKEN.exec(text);
      expect(match, "it is no JSON");
      return match;
    };
    const value = ([, mark, string, whole, part, power, word], depth) => {
      expect(depth <= 200, "it has too many brackets");
      if (string !== undefined || word !== undefined) return JSON.parse(string || word);
      if (whole !== undefined) {
        expect(whole.length <= 4300, "a number has too many digits");
        return part || power ? Number(whole + (part || "") + (power || "")) : BigInt(whole);
      }
      const isList = mark === "[", found = isList ? [] : Object.create(null), end = isList ? "]" : "}";
      expect(isList || mark === "{", "it is no JSON: a value is missing");
      let token = next();
      while (token[1] !== end) {
        if (isList) found.push(value(token, depth + 1));
        else {
          expect(token[2] !== undefined, "it is no JSON: a name is missing");
          const name = JSON.parse(token[2]);
          expect(!(name in found), "a field is written twice");
          expect(next()[1] === ":", "it is no JSON: a value is missing");
          found[name] = value(next(), depth + 1);
        }
        const [, after] = next();
        expect(after === "," || after === end, "it is no JSON: something does not end");
        if (after === end) break;
        token = next();
        expect(token[1] !== end, "it is no JSON: a value is missing");
      }
      return found;
    };
    TOKEN.lastIndex = 0;
    const found = value(next(), 0);
    expect(!next()[0].trim() && TOKEN.lastIndex >= text.length, "it is no JSON: something follows");
    return found;
  }

  // ---- the canonical text and its checksum
  const named = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" };
  function quoted(text) {
    if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
    const escaped = (letter) => named[letter] || `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return `"${text.replace(/[^ !#-[\]-~]/g, escaped)}"`;
  }
  function decimal(number) {
    if (!Number.isFinite(number)) return number > 0 ? "Infinity" : "-Infinity";
    const sign = number < 0 || Object.is(number, -0) ? "-" : "", [mantissa, power] = Math.abs(number).toExponential().split("e");
    const digits = mantissa.replace(".", ""), exponent = Number(power), size = String(Math.abs(exponent)).padStart(2, "0");
    if (exponent >= 16 || exponent < -4) return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
    const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
    return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
  }
  const codePoints = (name) => Array.from(name, (letter) => letter.codePointAt(0).toString(16).padStart(6, "0")).join("");
  function canonical(value) {
    if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
    if (typeof value === "number") return decimal(value);
    if (typeof value === "string") return quoted(value);
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    const names = Object.keys(value).map((name) => [codePoints(name), name]).sort();
    return `{${names.map(([, name]) => `${quoted(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  function sha256(ascii) {
    const primes = [];
    for (let one = 2; primes.length < 64; one += 1) if (primes.every((prime) => one % prime)) primes.push(one);
    const fraction = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
    const constants = primes.map((prime) => fraction(Math.cbrt(prime)));
    const state = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
    const length = ascii.length, words = new Int32Array(Math.ceil((length + 9) / 64) * 16);
    for (let place = 0; place < length; place += 1) words[place >> 2] |= ascii.charCodeAt(place) << (24 - 8 * (place & 3));
    words[length >> 2] |= 0x80 << (24 - 8 * (length & 3));
    words.set([Math.floor(length / 2 ** 29), length << 3], words.length - 2);
    const turn = (word, by) => (word >>> by) | (word << (32 - by)), w = new Int32Array(64);
    for (let block = 0; block < words.length; block += 16) {
      let [a, b, c, d, e, f, g, h] = state;
      for (let step = 0; step < 64; step += 1) {
        const x = w[step - 15], y = w[step - 2];
        const early = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3), late = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
        w[step] = step < 16 ? words[block + step] : (w[step - 16] + early + w[step - 7] + late) | 0;
        const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + constants[step] + w[step]) | 0;
        const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
      }
      [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] = (state[place] + word) | 0));
    }
    return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  // ---- every field, as the page lists them
  const FORM = `
certificate: format=bestleaf certificate, format_version=count, bestleaf=text, cost={any}, features?=[text]?,
    reason=settled|max_samples|max_time|interrupted|exhausted|unfinished, search?=<search>?, local?=<local>?,
    all_subsets?=<all subsets>?, new_rows?=<new rows>?, path?=<path>?, data?=<data>?, told?={any}?, table?={any}?, checksum?=text?
search: task=arm|leaf, epsilon=value, delta=fraction, rule=text, bound=text, stopping=text, proposal=text,
    proof=none|conditional|rigorous, answer=count, lower=value, upper=value, gap=number, graph=<graph>, leaves=[<leaf>],
    expansion?=value?, growth?=text?, seed?=any, plan?=[[count]]?
graph: labels=[any], children=[[count]], minimizes?=[count], two_player?=flag, created?=count, inner_orders?={count},
    chance?=[<chance node>]?, endless?=[<endless play>]
leaf: node=count, terminal=flag, exact=flag, count=count, mean=value?, lower=value, upper=value, label?=any, order?=count, share?=value,
    lower_evidence?=numbers?, upper_evidence?=numbers?
chance node: node=count, probabilities=[value]
endless play: node=count, lower=value, upper=value
local: epsilon=value, compared=[<compared>], choice?=<choice>?
compared: label=any, value=value
choice: allowed=[count], forced?=[count], limit=count
all subsets: evaluated=count, least=value
new rows: score=number, all_columns=number, rows=count, trained=count, judges={number}, how=nested folds|test rows|given rows,
    standard_error?=number?, difference_error?=number?, guessing?=number?, why_no_proof?=folds|groups|weights|classes|scoring|size?,
    delta?=fraction?, table?=<matched rows>?, interval?=[number]?, difference_interval?=[number]?, best_other?=number?,
    fingerprint?=text?
matched rows: measure=auc|concordance|accuracy, sets=[count], score=[[count]], gains=[[[count]]]
path: rows=[<path row>], size=count, order=text, judges=[text], folds=count, folds_planned=count, asked?=flag, tolerance=number,
    seed?=any, chosen_in_folds?={value}
path row: size=count, features=[text], difference=number?, judges?=[number], score?=number?, standard_error?=number?
data: names=[text], rows=count, fingerprint=text, units=[[count]], choice=<choice>, objective={any}, row_groups?=text?,
    row_weights?=text?, encoding?={any}?`;
  const FIELDS = Object.fromEntries(FORM.replace(/\n +/g, " ").trim().split("\n").map((line) => {
    const [part, fields] = line.split(": ");
    return [part, fields.split(", ").map((field) => /^(\w+)(\??)=(.*)$/.exec(field).slice(1))];
  }));
  const isNumber = (value) => typeof value === "bigint" || typeof value === "number";
  const between = (value, low, high) => isNumber(value) && Number(value) >= low && Number(value) <= high;
  const KINDS = {
    any: () => true, flag: (value) => typeof value === "boolean", text: (value) => typeof value === "string",
    count: (value) => typeof value === "bigint" && value >= 0n && value <= 10n ** 15n,
    number: (value) => between(value, -1e300, 1e300),
    value: (value) => between(value, 0, 1),
    fraction: (value) => between(value, 0, 1) && Number(value) > 0 && Number(value) < 1,
    numbers: (value) => Array.isArray(value) && value.every((one) => isNumber(one) && Number.isFinite(Number(one))),
  };
  function read(value, kind, what) {
    if (kind in KINDS) {
      need(KINDS[kind](value), `${what} must be of kind ${kind}`);
      if (kind === "numbers") return value.map(Number);
      return kind !== "any" && isNumber(value) ? Number(value) : value;
    }
    if (kind.endsWith("?")) return value === null ? null : read(value, kind.slice(0, -1), what);
    const inner = kind.slice(1, -1), isList = Array.isArray(value);
    if (kind.startsWith("[")) {
      need(isList, `${what} must be a list`);
      return value.map((one) => read(one, inner, what));
    }
    if (kind.startsWith("{") || kind.startsWith("<")) {
      need(value !== null && typeof value === "object" && !isList, `${what} must have named values`);
      if (kind.startsWith("<")) return readPart(value, inner);
      const found = Object.create(null);
      for (const name of Object.keys(value)) found[name] = read(value[name], inner, what);
      return found;
    }
    need(typeof value === "string" && kind.split("|").includes(value), `${what} must be ${kind}`);
    return value;
  }
  function readPart(value, part) {
    const found = Object.create(null);
    for (const [name, optional, kind] of FIELDS[part]) {
      const missing = kind.endsWith("?") || kind === "any" ? null : { "[": [], "{": {}, f: false, c: 0, v: 0 }[kind[0]];
      need(optional || name in value, `the field ${name} is missing in the ${part}`);
      found[name] = name in value ? read(value[name], kind, `${name} of the ${part}`) : missing;
    }
    for (const name of Object.keys(value)) need(name in found, `there is an unknown field in the ${part}`);
    return found;
  }

  // ---- what may be chosen
  class Choice {
    constructor({ allowed, forced, limit }) {
      this.units = new Set([...allowed, ...forced]);
      Object.assign(this, { forced: new Set(forced), limit, free: allowed.length });
      need(this.units.size === allowed.length + forced.length, "the units allowed and forced must be different");
      need(forced.length <= limit && limit <= this.units.size, "limit must be from forced to all");
    }
    count() {
      let many = this.forced.size ? 0n : -1n, ways = 1n;
      const most = this.limit - this.forced.size, next = (size) => (ways * BigInt(this.free - size)) / BigInt(size + 1);
      for (let size = 0; size <= most; size += 1) [many, ways] = [many + ways, next(size)];
      return many;
    }
    subset(label, complete) {
      need(Array.isArray(label) && label.every((one) => typeof one === "bigint"), "a label is not a subset");
      const units = label.map(Number);
      need((units.at(-1) === STOP) === complete, "a label must end with -1 if its subset is complete");
      if (complete) units.pop();
      const rising = units.every((unit, place) => !place || units[place - 1] < unit);
      const fits = units.every((unit) => this.units.has(unit)) && Number(complete) <= units.length && units.length <= this.limit;
      const found = new Set(units);
      need(rising && fits && [...this.forced].every((unit) => found.has(unit)), "a label is not a subset that may be chosen");
      return found;
    }
  }
  const MEASURES = { accuracy: "accuracy", concordance: "concordance", roc_auc: "auc", roc_auc_ovr: "auc" };
  function checkData(c) {
    const { data, features } = c, choice = new Choice(data.choice);
    data.unit = new Map();
    data.units.forEach((columns, unit) => columns.forEach((column) => {
      need(column < data.names.length && !data.unit.has(data.names[column]), "every column must be in one unit");
      data.unit.set(data.names[column], unit);
    }));
    const whole = data.unit.size === data.names.length && data.units.every((columns) => columns.length);
    need(whole, "every column must have its own name and be in one unit, and every unit must have one");
    need([...choice.units].every((unit) => unit < data.units.length) && choice.units.size, "a unit does not exist");
    need(features && features.length, "the answer must be columns");
    const places = features.map((name) => data.names.indexOf(name));
    need(places.every((one, place) => one > (place ? places[place - 1] : -1)), "the answer must be in the order of the table");
    need(features.every((name) => choice.units.has(data.unit.get(name))), "the answer must be columns that may be chosen");
    const { classes, scoring: scored = given(classes) ? "roc_auc" : "concordance" } = data.objective;
    data.measure = typeof scored === "string" && Object.hasOwn(MEASURES, scored) ? MEASURES[scored] : null;
    return choice;
  }
  function given(value) { // whether a field of no fixed form is there and not zero, empty or false
    if (value === null || value === undefined || value === false || value === "") return false;
    return isNumber(value) ? Number(value) !== 0 : typeof value !== "object" || Object.keys(value).length > 0;
  }

  // ---- leaves: shares of delta, and ends that follow from samples
  const HALF_GRID = [0, 0.002, 0.004, 0.007, 0.011, 0.016, 0.023, 0.033, 0.047, 0.067, 0.095, 0.135, 0.19, 0.27, 0.37];
  const GRID = [...HALF_GRID, 0.5, ...HALF_GRID.map((node) => 1 - node).reverse()];
  const BETS = [0.01, 0.019, 0.036, 0.069, 0.13, 0.25, 0.47, 0.9];
  function logMean(logs) {
    const most = largest(logs, -Infinity);
    return most + Math.log(sum(logs.map((one) => Math.exp(one - most))) / logs.length);
  }
  function half(bound, many, share) {
    const level = Math.log(1 / share), { log, sqrt } = Math;
    if (bound === "hoeffding") return 1.7 * sqrt((log(log(2 * many)) + 0.72 * log(10.4 / share)) / (4 * many));
    return sqrt((level + 3 * log(level) + 1.5 * log(log(many) + 1)) / (2 * many));
  }
  function follows(bound, isLower, end, share, evidence) {
    const [many, total] = evidence, mean = total / many;
    if (bound !== "betting") {
      const room = half(bound, many, share);
      return isLower ? end <= mean - room + CLOSE : end >= mean + room - CLOSE;
    }
    const weights = evidence.slice(5, 5 + GRID.length);
    if (isLower ? end > mean : end <= mean) return false;
    if (!weights.length || weights.some((weight) => weight < 0)) return false;
    const m = end + (isLower ? -CLOSE : CLOSE);
    if (m <= 0 || m >= 1) return true;
    if (weights.length < GRID.length) return false;
    const used = range(GRID.length).filter((place) => weights[place]);
    if (!either(sum(weights), many) || !either(sum(used.map((place) => GRID[place] * weights[place])), total)) return false;
    const gain = (place) => (isLower ? GRID[place] / m : (1 - GRID[place]) / (1 - m)) - 1;
    const logs = BETS.map((bet) => sum(used.map((place) => weights[place] * Math.log1p(bet * gain(place)))));
    return logMean(logs) >= Math.log(2 / share);
  }
  function checkLeaves(search, ofSubsets) {
    const { leaves, delta, bound } = search, part = delta / leaves.length;
    const equal = search.expansion === null && leaves.every((leaf) => leaf.order && nearly(leaf.share, part));
    const ours = bound === "hoeffding" || bound === "betting" || (bound === "theory" && equal && part <= 0.1);
    const unproved = ["theory", "beta1", "beta1_published", "beta2"].includes(bound) ? "none" : "conditional";
    const proved = search.stopping === "sound" && search.proof === (ours ? "rigorous" : unproved);
    need(search.proof === "none" || proved, "the bound with this stopping does not prove so much");
    const found = { exact: 0, written: 0 };
    for (const leaf of leaves) {
      const due = equal ? part : leaf.order ? delta / (leaf.order * (leaf.order + 1)) : 0;
      const valued = leaf.terminal && leaf.lower === leaf.upper && leaf.lower === leaf.mean && leaf.count === 1 && !leaf.order;
      const waits = leaf.terminal && leaf.lower === 0 && leaf.upper === 1 && leaf.count === 0;
      need(leaf.exact ? valued : leaf.order || waits, "a leaf must be exact, sampled or waiting");
      need(!(ofSubsets && leaf.terminal && leaf.order), "a complete subset is not sampled");
      need(nearly(leaf.share, due), "a leaf must have the share of delta of its place");
      found.exact += Number(leaf.exact);
      found.written += Number(!leaf.exact && !ours && leaf.upper - leaf.lower !== 1);
      const now = bound === "theory" ? [leaf.count, (leaf.mean || 0) * leaf.count] : null;
      for (const side of ["lower", "upper"]) {
        const end = leaf[side], written = leaf[`${side}_evidence`];
        if (leaf.exact || !ours || end === (side === "lower" ? 0 : 1)) continue;
        const evidence = written && written.length ? written : now;
        const fine = evidence && evidence[0] >= 1 && evidence[0] <= leaf.count && evidence[1] >= 0 && evidence[1] <= evidence[0] + CLOSE;
        need(fine && follows(bound, side === "lower", end, leaf.share, evidence), `${side} of a leaf does not follow from its samples`);
      }
    }
    return found;
  }

  // ---- the graph
  function searched(starts, edges) { // the nodes that each start is the first to reach, in depth: what is finished first
    const seen = new Set();
    return starts.map((start) => {
      const waiting = [[start, false]], found = [];
      while (waiting.length) {
        const [node, finished] = waiting.pop();
        if (finished) found.push(node);
        else if (!seen.has(node)) {
          seen.add(node);
          waiting.push([node, true]);
          edges[node].forEach((child) => waiting.push([child, false]));
        }
      }
      return found;
    });
  }
  function components(children) { // nodes that reach each other, from the root, children first
    const [found] = searched([0], children), parents = children.map(() => []);
    found.forEach((node) => children[node].forEach((child) => parents[child].push(node)));
    return searched([...found].reverse(), parents).filter((group) => group.length).reverse();
  }

  class Graph {
    constructor(c) {
      const { search } = c, { graph } = search;
      Object.assign(this, { c, search, graph, leaves: search.leaves, answer: search.answer, labels: graph.labels });
      Object.assign(this, { children: graph.children, many: graph.labels.length, grew: search.expansion !== null });
      this.opponent = new Set(graph.minimizes);
      need(this.many > 0 && this.children.length === this.many, "the graph must list the children of every node");
      for (const nodes of [...this.children, graph.minimizes, [this.answer]]) {
        need(new Set(nodes).size === nodes.length && nodes.every((node) => node < this.many), "a node does not exist, or twice");
      }
      this.groups = components(this.children);
      need(sum(this.groups.map((group) => group.length)) === this.many, "every node must be reached from the root");
      const circular = (group) => group.length > 1 || this.children[group[0]].includes(group[0]);
      this.cycles = new Set(this.groups.filter(circular).flat());
      this.leaves.sort((one, other) => one.node - other.node);
      const ends = range(this.many).filter((node) => !this.children[node].length);
      const same = ends.length === this.leaves.length && this.leaves.every((leaf, place) => leaf.node === ends[place]);
      need(same, "the leaves must be exactly the nodes without children");
      for (const leaf of this.leaves) {
        need(!c.data || leaf.label === null, "a leaf has another label than its node");
        leaf.text = canonical(leaf.label === null ? this.labels[leaf.node] : leaf.label);
      }
      this.chances = new Map((graph.chance || []).map((one) => [one.node, one.probabilities]));
      this.endless = new Map(graph.endless.map((one) => [one.node, one]));
    }
    check() {
      const { c, search, graph, endless, cycles } = this, chance = graph.chance !== null, leaf = search.task === "leaf";
      const entered = new Set([0]);
      this.children.forEach((below, node) => below.forEach((child) => child > node && entered.add(child)));
      need(entered.size === this.many, "every node must have a parent that entered before it");
      need(graph.two_player || !this.opponent.size, "an opponent moves only in a game of two players");
      need((search.plan !== null) === (chance && leaf), "there must be a plan if a best leaf may be decided by chance");
      for (const [node, weights] of this.chances) {
        const total = sum(weights), all = weights.length && !this.grew ? 1 : 0;
        const fine = node < this.many && weights.length === this.children[node].length && weights.every((one) => one > 0);
        need(fine && total >= all - CLOSE && total <= 1 + CLOSE, "probabilities must be those of the children and sum to 1");
        need(!this.opponent.has(node), "where chance decides there is no player");
      }
      const fine = ([node, one]) => graph.two_player && cycles.has(node) && one.lower <= one.upper && endless.size === cycles.size;
      need([...endless].every(fine), "play without end is for the nodes on cycles of a game, with lower <= upper");
      need(!(cycles.size && chance), "there is no chance in a graph with cycles");
      need(!c.data || (leaf && !graph.two_player && !cycles.size && !chance), "a choice of columns is about one player");
    }
    checkPlaces() {
      const orders = this.graph.inner_orders, names = Object.keys(orders), inner = names.map((node) => [Number(node), orders[node]]);
      const exist = names.every((node) => /^(0|[1-9][0-9]*)$/.test(node) && this.children[node] && this.children[node].length);
      need(exist, "inner_orders must name nodes with children");
      need(this.grew || (!inner.length && this.leaves.every((leaf) => leaf.terminal)), "the graph is not whole");
      const placed = [...inner, ...this.leaves.filter((leaf) => leaf.order).map((leaf) => [leaf.node, leaf.order])];
      const places = placed.map(([, place]) => place).sort((one, other) => one - other);
      need(places.length === this.graph.created && places.every((one, at) => one === at + 1), "places must be 1 to created");
      const terminal = new Set(this.leaves.filter((leaf) => leaf.terminal).map((leaf) => leaf.node));
      let least = placed.length + 1, late = 0;
      for (const [node, place] of placed.sort((one, other) => other[0] - one[0])) {
        need(place < least || terminal.has(node), "who entered early must have an earlier place");
        [late, least] = [late + Number(place > least), Math.min(least, place)];
      }
      return late;
    }
    checkSubsets(choice) {
      const ends = this.labels.map((label) => Array.isArray(label) && label.at(-1) === -1n);
      const sets = this.labels.map((label, node) => choice.subset(label, ends[node]));
      need(new Set(this.labels.map(canonical)).size === this.many, "two nodes are the same subset");
      need(!ends[0] && sets[0].size === choice.forced.size, "the root must be the units always in");
      const terminal = new Set(this.leaves.filter((leaf) => leaf.terminal).map((leaf) => leaf.node));
      need(ends.every((end, node) => end === terminal.has(node)), "labels of terminal leaves must end with -1");
      const flat = this.children.slice(1).every((below) => !below.length) && ends.slice(1).every(Boolean);
      need(!this.c.all_subsets || flat, "subsets must be below the root");
      if (this.c.all_subsets) return;
      this.children.forEach((below, node) => below.forEach((child) => {
        const one = this.labels[child].length === this.labels[node].length + 1;
        need(one && [...sets[node]].every((unit) => sets[child].has(unit)), "an edge must add one unit or -1");
      }));
      need(this.grew || choice.count() === BigInt(this.leaves.length), "the whole graph must have all subsets");
    }
    best(node, values, unknown) {
      const weights = this.chances.get(node);
      if (!weights) return this.opponent.has(node) ? smallest(values) : largest(values, -Infinity);
      const total = sum(weights), mean = sum(weights.map((weight, place) => weight * values[place]));
      return total < 1 - CLOSE ? mean + unknown * (1 - total) : mean;
    }
    bounds(moves = new Map()) {
      const found = [new Array(this.many).fill(0), new Array(this.many).fill(1)];
      for (const leaf of this.leaves) [found[0][leaf.node], found[1][leaf.node]] = [leaf.lower, leaf.upper];
      for (const group of this.groups) {
        const [node] = group, below = moves.has(node) ? [moves.get(node)] : this.children[node];
        if (!below.length) continue;
        found.forEach((bounds, side) => {
          if (this.cycles.has(node)) this.settle(group, bounds, side);
          else bounds[node] = this.best(node, below.map((child) => bounds[child]), side);
        });
      }
      return found;
    }
    worthOfEndlessPlay(group, side) {
      const written = group.filter((node) => this.endless.has(node)).map((node) => this.endless.get(node));
      if (written.length) return side ? largest(written.map((one) => one.upper), 0) : smallest(written.map((one) => one.lower));
      if (!this.graph.two_player) return 0;
      const inside = new Set(group), leaving = group.filter((node) => this.children[node].some((child) => !inside.has(child)));
      const opponent = leaving.some((node) => this.opponent.has(node)), player = leaving.some((node) => !this.opponent.has(node));
      return opponent === player ? side : Number(opponent);
    }
    settle(group, bounds, side) {
      const worth = this.worthOfEndlessPlay(group, side);
      const limit = (pick) => {
        group.forEach((node) => (bounds[node] = worth));
        for (let changed = true; changed; ) {
          changed = false;
          for (const node of group) {
            const value = pick(worth, this.best(node, this.children[node].map((child) => bounds[child]), 0));
            changed = changed || value !== bounds[node];
            bounds[node] = value;
          }
        }
        return group.map((node) => bounds[node]);
      };
      const gained = limit(Math.max), lost = limit(Math.min);
      group.forEach((node, place) => (bounds[node] = gained[place] > worth ? gained[place] : lost[place]));
    }
    plan(upper) {
      const { plan } = this.search, moves = new Map(plan), others = (node) => this.opponent.has(node) || this.chances.has(node);
      const fine = ([node, to]) => node < this.many && !others(node) && this.children[node].includes(to);
      const single = plan.every((one) => one.length === 2) && moves.size === plan.length && plan.every(fine);
      need(single, "a plan must have one move to a child at each of its nodes");
      need(this.answer === (moves.has(0) ? moves.get(0) : 0), "the answer must be the first move of the plan");
      const order = this.groups.flat().filter((node) => this.children[node].length), reached = new Set([0]);
      for (const node of [...order].reverse()) {
        if (!reached.has(node)) continue;
        need(moves.has(node) || others(node), "the plan must have a move at every node that it leads to");
        (moves.has(node) ? [moves.get(node)] : this.children[node]).forEach((child) => reached.add(child));
      }
      const [lows, highs] = this.bounds(moves), loss = new Array(this.many).fill(0);
      this.leaves.forEach((leaf) => (loss[leaf.node] = Number(!leaf.terminal)));
      for (const node of order.filter((one) => reached.has(one))) {
        const below = this.children[node], move = moves.get(node);
        if (move !== undefined) {
          loss[node] = largest(below.filter((child) => child !== move).map((child) => upper[child] - lows[node]), loss[move]);
        } else if (this.chances.has(node)) loss[node] = this.best(node, below.map((child) => loss[child]), 1);
        else loss[node] = largest(below.map((child) => Math.min(loss[child], upper[node] - lows[child])), 0);
      }
      return [lows[0], highs[0], loss[0]];
    }
    numbers(choice) {
      const { answer, c, search, graph } = this, [lower, upper] = this.bounds(), arm = search.task === "arm";
      const fine = arm ? this.children[0].includes(answer) : !graph.two_player && !this.children[answer].length;
      need(fine || search.plan, `the answer must be a ${arm ? "child of the root" : "leaf"}`);
      let [low, high] = [lower[answer], upper[answer]];
      const below = new Set([answer]);
      for (const node of below) this.children[node].forEach((child) => below.add(child)); // grows in this loop
      const inside = new Map(this.leaves.filter((leaf) => below.has(leaf.node)).map((leaf) => [leaf.text, leaf.terminal]));
      let gaps = this.leaves.filter((leaf) => !inside.has(leaf.text)).map((leaf) => leaf.upper - low);
      if (graph.two_player || graph.chance !== null) {
        const others = this.children[0].filter((child) => child !== answer);
        gaps = others.map((child) => (this.opponent.has(0) ? high - lower[child] : upper[child] - low));
      }
      if (c.all_subsets) gaps.push((BigInt(c.all_subsets.evaluated) === choice.count() ? c.all_subsets.least : 1) - low);
      if (!arm && ![...inside.values()].some(Boolean)) gaps = [1];
      let gap = gaps.length ? largest(gaps, -Infinity) : 0;
      if (search.plan) [low, high, gap] = this.plan(upper);
      return { lower: low, upper: Math.min(1, high), gap: Math.min(1, gap) };
    }
  }

  // ---- other claims
  function checkLocal(c) {
    const { local, search, data } = c, label = search.graph.labels[search.answer];
    const exact = new Map(search.leaves.filter((leaf) => leaf.exact).map((leaf) => [leaf.text, leaf.lower]));
    const mine = exact.get(canonical(label)), values = new Map(local.compared.map((one) => [canonical(one.label), one.value]));
    need(mine !== undefined && search.task === "leaf", "a claim one step away needs the exact value of a best leaf");
    need(values.size === local.compared.length, "a candidate one step away is listed twice");
    const same = ([text, value]) => (!exact.has(text) || close(value, exact.get(text))) && value <= mine + local.epsilon;
    need([...values].every(same), "a candidate one step away has two values, or is better than that");
    need(local.choice || (!data && values.size), "a claim one step away must say which candidates there are");
    if (!local.choice) return;
    const alike = (name) => String(local.choice[name]) === String(data.choice[name]);
    need(!data || ["allowed", "forced", "limit"].every(alike), "the claim must be about what may be chosen");
    const choice = new Choice(local.choice), own = choice.subset(label, true);
    const beyond = (one, other) => [...one].filter((unit) => !other.has(unit)).length;
    const near = (other) => Math.max(beyond(other, own), beyond(own, other)) === 1;
    need(local.compared.every((one) => near(choice.subset(one.label, true))), "a candidate is not one step away");
    const free = choice.units.size - own.size, loose = beyond(own, choice.forced);
    const many = (own.size < choice.limit ? free : 0) + (own.size > 1 ? loose : 0) + loose * free;
    need(values.size === many, "the claim must be about all subsets one step away");
  }
  function checkAllSubsets(c, choice) {
    const { evaluated, least } = c.all_subsets, { leaves } = c.search, total = choice.count();
    need(c.search.expansion === null && leaves.every((leaf) => leaf.exact), "subsets that were counted must be exact");
    need(leaves.length <= evaluated && BigInt(evaluated) <= total && evaluated <= 2 ** 30, "there are not so many subsets");
    need(BigInt(evaluated) === total || c.reason !== "settled", "a settled answer needs all subsets");
    need(leaves.filter((leaf) => leaf.lower >= least).length >= Math.min(1000, evaluated), "the best subsets must be leaves");
  }
  const saysIn = (c, words) => c.told !== null && canonical(c.told).includes(words);
  function checkPath(c, choice) {
    const { path, data } = c, rows = path.rows.filter((row) => row.size === path.size), last = path.rows.at(-1);
    const units = new Set(c.features.map((name) => data.unit.get(name)));
    const same = rows.length === 1 && path.size === units.size && canonical(rows[0].features) === canonical(c.features);
    need(same, "the answer must be the row of the path of its size");
    need(last.size === choice.units.size && !last.difference, "the last row must be all columns");
    need(path.folds <= path.folds_planned && path.folds_planned <= data.rows ** 2, "there cannot be so many folds");
    const numbers = path.rows.flatMap((row) => [row.score || 0, row.difference || 0, ...row.judges]);
    need(!data.measure || numbers.every((one) => one >= -1 && one <= 1), "scores of the path must be at most 1");
    const ended = path.asked || path.folds === 0 || c.reason === "interrupted" || c.reason === "max_time";
    need(c.new_rows || ended || saysIn(c, "no score on new rows is known"), "an answer that was chosen must have a score");
  }
  const MATCHINGS = 50, LOWEST = 1e-9, EDGES = [LOWEST, ...range(52).map((step) => 1 / (1 + Math.exp((16 - step) / 4))), 1];
  const OF_SCORE = range(EDGES.length - 1).map((at) => [EDGES[at], EDGES[at + 1], [2 / (EDGES[at] + EDGES[at + 1]) - 1]]);
  const OF_DIFFERENCE = [[LOWEST / 2, 1, [0.02, 0.15]]];
  function excluded(lists, bets, level, first, last) {
    const reaches = (m) => {
      const top = lists[0].length - 1, logs = [];
      for (const bet of bets) {
        const gains = range(top + 1).map((place) => Math.log(1 - bet + (bet * place) / (top * m)));
        for (const counts of lists) logs.push(sum(counts.map((many, place) => many * gains[place])));
      }
      return logMean(logs) >= Math.log(1 / level) + CLOSE;
    };
    if (reaches(last) || !reaches(first)) return reaches(last) ? last : first;
    for (let step = 0; step < 40; step += 1) {
      const middle = (first + last) / 2;
      [first, last] = reaches(middle) ? [middle, last] : [first, middle];
    }
    return first;
  }
  function lowEnd(lists, evidence, level, cells) {
    let end = 0;
    for (const [first, last, variances] of cells) {
      const sizes = variances.map((variance) => Math.sqrt((2 * Math.log(1 / level)) / (evidence * variance)));
      end = excluded(lists, sizes.map((size) => size / Math.sqrt(1 + size * size)), level, first, last);
      if (end < last) break;
    }
    return end === cells[0][0] ? 0 : end;
  }
  const reversed = (lists) => lists.map((counts) => [...counts].reverse());
  const endsOf = (lists, ...rest) => [lowEnd(lists, ...rest), 1 - lowEnd(reversed(lists), ...rest)];
  function checkNewRows(c, choice) {
    const { new_rows: claim, data, path } = c, { measure } = data, every = choice.units.size;
    const size = new Set(c.features.map((name) => data.unit.get(name))).size, judges = Object.values(claim.judges);
    const nested = claim.how === "nested folds", handed = claim.how === "given rows";
    const { seed = null, judges: asked = [] } = path || {}, names = Object.keys(claim.judges), why = claim.why_no_proof;
    const proof = new Set(["delta", "table", "interval", "difference_interval"].map((name) => claim[name] === null));
    const estimate = [data.row_groups, data.row_weights, data.objective.grouped, data.objective.weighted].some(given);
    const cut = c.reason !== "settled" && claim.trained > 0 && claim.trained < data.rows;
    const right = {
      score: judges.length && close(sum(judges) / judges.length, claim.score),
      "seed of the path": nested || handed || (typeof seed === "bigint" && seed >= 0n && seed < 2n ** 32n),
      fingerprint: handed === (claim.fingerprint !== null),
      judges: !asked.length || canonical(asked) === canonical(names),
      trained: nested ? claim.trained < data.rows && data.rows >= claim.rows : claim.trained === data.rows || cut,
      all_columns: size < every || close(claim.score, claim.all_columns),
      "range of the scores": !measure || [claim.score, claim.all_columns, ...judges].every((one) => one >= 0 && one <= 1),
      guessing: !measure || measure === "accuracy" || claim.guessing === 0.5,
      why_no_proof: proof.size === 1 && proof.has(true) === (why !== null),
      groups: handed || given(data.row_groups) || why !== "groups" || saysIn(c, "copies of other rows"),
      weights: handed || given(data.row_weights) || why !== "weights",
      table: claim.table ? claim.table.measure === measure && !nested && !estimate : claim.best_other === null,
    };
    for (const [field, fine] of Object.entries(right)) need(fine, `new_rows: ${field} does not follow from the other fields`);
    if (claim.table) checkTrials(c, size, every);
  }
  function checkTrials(c, size, every) {
    const { new_rows: claim, path, data } = c, { table, delta } = claim, single = table.measure === "accuracy";
    const first = size === every ? [size] : [size, every], width = table.score[0].length, { classes } = data.objective;
    const rows = path ? [...path.rows].sort((one, other) => (other.difference || 0) - (one.difference || 0)) : [];
    const room = Math.min(Math.floor(600000 / (4 * MATCHINGS * (width - 1))), Math.floor(Math.floor(1e9 / claim.trained) / claim.rows));
    const others = rows.map((row) => row.size).filter((one) => !first.includes(one)).slice(0, Math.max(0, room - first.length));
    const due = [...first, ...others], kept = c.reason === "settled" ? due : due.slice(0, Math.max(first.length, table.sets.length));
    need(String(table.sets) === String(kept) && table.gains.length === table.sets.length - 1, "the trials must be about the sets due");
    const outputs = table.measure === "auc" && Number(classes) > 2 ? Number(classes) : 1;
    need(!path || width === 1 + 2 * Object.keys(claim.judges).length * outputs, "the trials must be by all judges");
    const trials = table.score.map(sum), most = table.measure === "concordance" ? Math.floor(claim.rows / 2) : trials[0];
    const enough = trials.length === (single ? 1 : MATCHINGS) && trials.every((one) => one <= most);
    need(enough && (single ? most === claim.rows : most <= Math.floor(claim.rows / 2)), "rows do not make these trials");
    for (const [lists, wide] of [[table.score, width], ...table.gains.map((gain) => [gain, 2 * width - 1])]) {
      const fine = lists.length === trials.length && lists.every((counts, at) => counts.length === wide && sum(counts) === trials[at]);
      need(fine, "every trial must have one of its levels in every set");
    }
    const evidence = most * (single ? 1 : 0.5), low = (gain, level) => 2 * lowEnd(gain, evidence, level, OF_DIFFERENCE) - 1;
    const written = [[claim.interval, claim.score, endsOf(table.score, evidence, delta / 4, OF_SCORE)]];
    let difference = [0, 0], gains = table.gains, lows = [], left = delta;
    if (size < every) {
      const ends = endsOf(gains[0], evidence, others.length ? delta / 8 : delta / 4, OF_DIFFERENCE);
      difference = ends.map((end) => 2 * end - 1);
      [lows, gains, left] = [[difference[0]], gains.slice(1), delta / 2];
    }
    written.push([claim.difference_interval, claim.score - claim.all_columns, difference]);
    lows.push(...gains.map((gain) => low(gain, left / 2 / others.length)));
    need((claim.best_other === null) === !lows.length, "best_other must be written if there are other sets");
    if (lows.length) written.push([[-1, claim.best_other], claim.best_other, [-1, -Math.min(...lows)]]);
    for (const [interval, score, [least, highest]] of written) {
      const fine = interval.length === 2 && interval[0] <= Math.min(least, score) && interval[1] >= Math.max(highest, score);
      need(fine, "an interval of new rows does not have in it what follows from the trials");
    }
  }

  // ---- the whole
  function checkSearch(c, choice, claims, taken) {
    const { search, data } = c, graph = new Graph(c), many = search.leaves.length;
    graph.check();
    const late = graph.checkPlaces(), found = checkLeaves(search, Boolean(data));
    if (choice) {
      graph.checkSubsets(choice);
      const units = [...choice.subset(graph.labels[search.answer], true)];
      const columns = units.flatMap((unit) => data.units[unit]).sort((one, other) => one - other);
      need(canonical(columns.map((column) => data.names[column])) === canonical(c.features), "the answer must be the columns named");
    }
    const numbers = graph.numbers(choice), wrong = Object.keys(numbers).filter((name) => !close(search[name], numbers[name]));
    need(!wrong.length, `${wrong[0]} follows from the leaves as ${numbers[wrong[0]]}, not ${search[wrong[0]]}`);
    need(search.gap <= search.epsilon || c.reason !== "settled" || search.stopping !== "sound", "a settled gap must be at most epsilon");
    const certain = found.exact === many, gap = Math.max(0, Math.ceil((search.gap + (certain ? 0 : MARGIN)) * 1e6) / 1e6);
    const likely = `with probability at least 1 - ${search.delta}`, conditional = `${likely}, provided that its bound holds`;
    const sure = certain ? "for certain" : { rigorous: likely, conditional, none: "as it seems, without proof" }[search.proof];
    const grew = graph.grew ? " (the graph grew; unfinished ones count as random play below them)" : "";
    claims.push(`Of ${many} candidates examined${grew} none is better than the answer by more than ${gap}, ${sure}.`);
    if (c.all_subsets) {
      checkAllSubsets(c, choice);
      claims.push(`${c.all_subsets.evaluated} of ${choice.count()} subsets that may be chosen were evaluated.`);
    }
    if (c.local) {
      checkLocal(c);
      claims.push(`None of ${c.local.compared.length} one step away is better by more than ${c.local.epsilon}.`);
    }
    const cases = [
      ["edges, labels and players of the graph", !data],
      ["that no leaf was left out", !data || graph.grew],
      ["the order in which nodes entered the graph, or got their share of delta", graph.grew || late],
      ["that the samples are those of the leaves and were drawn at random", !certain],
      [`intervals of ${found.written} leaves, because their bound was not checked`, found.written],
      ["probabilities of the chance nodes", graph.chances.size],
      ["what play without end is worth", graph.endless.size],
      ["exact values", found.exact],
      ["values of subsets that are no leaves", c.all_subsets],
      ["which candidates are one step away", c.local && !data],
    ];
    taken.push(...cases.filter(([, isSo]) => isSo).map(([words]) => words));
  }
  function checked(content, claims, taken) {
    const { checksum, ...rest } = content, c = readPart(content, "certificate"), claim = c.new_rows;
    need(sha256(canonical(rest)) === c.checksum, "the checksum is not that of the content: something was changed");
    need(c.search || c.path || claim, "a certificate must claim something");
    const ofData = given(c.features) || c.path || claim || c.all_subsets || given(c.table), ofSearch = c.local || c.all_subsets;
    need((c.data || !ofData) && (c.search || !ofSearch), "columns, path and new rows need data, other claims a search");
    taken.push("times, counts of samples and values, seed, why the work ended, version, and what a report also shows");
    const choice = c.data && checkData(c);
    if (c.search) checkSearch(c, choice, claims, taken);
    if (c.path) {
      checkPath(c, choice);
      taken.push("the sets compared and the choice by their scores in cross-validation, which are estimates");
      if (!claim) claims.push("No score on new rows is known.");
    }
    if (claim) {
      checkNewRows(c, choice);
      if (claim.table) {
        const [low, high] = claim.interval, [least, most] = claim.difference_interval;
        const others = `none of the ${claim.table.sets.length - 1} other sets is better by more than ${claim.best_other}`;
        const best = claim.best_other === null ? "" : `; ${others}`;
        const both = `the score on new rows is from ${low} to ${high}, the difference to all columns from ${least} to ${most}`;
        claims.push(`With probability at least 1 - ${claim.delta} ${both}${best}.`);
        taken.push(`the results on the ${claim.how}, that these are like new rows and had no part in the choice, the seed and the end of the choice`);
      } else taken.push("the score on new rows, an estimate without proof");
      taken.push("the score of guessing, unless it is that of AUC or concordance");
    }
    if (c.data) taken.push("rows, names and score of the data, what may be chosen, how the table was read");
  }
  function check(text) { // returns {verdict: "holds", "refused" or "unreadable", claims, taken, reason}
    const claims = [], taken = [];
    try {
      const content = parsed(text), isObject = content !== null && typeof content === "object" && !Array.isArray(content);
      const ours = isObject && content.format_version === 4n && given(content.checksum);
      expect(ours, "a certificate of bestleaf of format version 4 with its checksum is needed");
      checked(content, claims, taken);
      return { verdict: "holds", claims, taken, reason: "" };
    } catch (error) {
      const verdict = error instanceof Unreadable ? "unreadable" : "refused", known = verdict[0] === "u" || error instanceof Refused;
      return { verdict, claims: [], taken: [], reason: known ? error.message : `it is malformed (${error.message})` };
    }
  }
  return { check };
})();

if (typeof module !== "undefined") module.exports = bestleafCheck;
