// SPDX-License-Identifier: Apache-2.0
// The page: panes of stages, and what ties their lines together. A line's ties are the source lines it comes from; two lines belong
// together where they share one.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const LINE = 18;
const state = { panes: [], hovered: null, pinned: null, query: '', current: null };

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) key in element ? (element[key] = value) : element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const plural = (n, word) => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;
const escapeHtml = text => text.replace(/[&<>]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const sourceName = source => `${data.files[data.sources[source][0]]}:${data.sources[source][1]}`;
const hueOf = source => (data.sources[source][1] * 47 + data.sources[source][0] * 90) % 360;

// ---- Stages ----
for (const stage of data.stages) {
  const { text, ties } = data.stages[stage.same ?? data.stages.indexOf(stage)];
  stage.ties = ties;
  stage.lines = text.map(line => data.lines[line]);
  stage.width = stage.lines.reduce((most, line) => Math.max(most, line.length), 0);
  // [set, count, set, count ...]: runs of lines with the same ties; -1 has none.
  stage.setOf = new Int32Array(stage.lines.length).fill(-1);
  for (let i = 0, at = 0; i < stage.ties.length; at += stage.ties[i + 1], i += 2) stage.setOf.fill(stage.ties[i], at, at + stage.ties[i + 1]);
}
/// The stage with the lines that its pass took away between those that it left, and what became of each line.
const changesOf = stage => {
  if (stage.changed) return stage.changed;
  const [from, ...runs] = stage.changes, before = data.stages[from];
  const view = { ...stage, from: before, lines: [], fates: [], numbers: [], firsts: [], added: 0, removed: 0 };
  const sets = [];
  const add = (fate, of, line) => view.lines.push(of.lines[line]) && sets.push(of.setOf[line]) && view.fates.push(fate) && view.numbers.push(line + 1);
  for (let i = 0, old = 0, now = 0; i < runs.length; i += 3) {
    for (let n = 0; n < runs[i]; ++n, ++old, ++now) add('', stage, now);
    if (runs[i + 1] + runs[i + 2]) view.firsts.push(view.lines.length);
    for (let n = 0; n < runs[i + 1]; ++n, ++old) add('cut', before, old);
    for (let n = 0; n < runs[i + 2]; ++n, ++now) add('new', stage, now);
    view.removed += runs[i + 1], view.added += runs[i + 2];
  }
  view.setOf = Int32Array.from(sets);
  view.width = Math.max(stage.width, before.width);
  return stage.changed = view;
};
/// What a module gives an alias to: "#regs3" -> the layout's text.
const aliasesOf = stage => stage.aliases ??= new Map(stage.lines.filter(line => line[0] === '#' && line.includes(' = ')).map(line => line.split(/ = (.*)/s)));
const setsWith = new Map();  // source -> sets that hold it
data.sets.forEach((set, index) => set.forEach(source => setsWith.has(source) ? setsWith.get(source).add(index) : setsWith.set(source, new Set([index]))));
const setsOf = sources => {
  const sets = new Set();
  for (const source of sources) for (const set of setsWith.get(source) ?? []) sets.add(set);
  return sets;
};
const linesWith = (stage, sets) => {
  const lines = [];
  if (sets) stage.setOf.forEach((set, line) => { if (set >= 0 && sets.has(set)) lines.push(line); });
  return lines;
};

// ---- Colours ----
const tokens = {
  cpp: /(?<c>\/\/.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<d>\b\d[\w.']*\b)|(?<w>\b(?:auto|bool|const|constexpr|else|float|for|if|int|namespace|return|struct|template|using|void|class|static|Tile|Scalar|Ptr|BlockPtr|Params)\b)|(?<v>\b[a-zA-Z_]\w*(?=\())/g,
  mlir: /(?<c>\/\/.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<v>[%^@#!][\w.$#-]+)|(?<w>\b[a-z_]+\.[a-z_.0-9]+|\b(?:module|attributes|to|step|iter_args|else|return)\b)|(?<d>\b(?:-?\d[\w.+-]*|0x[0-9A-Fa-f]+)\b)/g,
  ll: /(?<c>;.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<v>[%@!#][\w.$-]+)|(?<w>\b(?:define|declare|call|load|store|br|ret|phi|icmp|fcmp|getelementptr|inbounds|nuw|nsw|add|sub|mul|fadd|fsub|fmul|fmuladd|fdiv|select|shufflevector|insertelement|extractelement|bitcast|zext|sext|trunc|fptrunc|fpext|sitofp|and|or|xor|shl|lshr|ashr|alloca|tail|fast|asm|sideeffect|extractvalue|insertvalue|label|switch|unreachable)\b)|(?<d>\b(?:-?\d[\w.+]*|0x[0-9A-Fa-f]+)\b)/g,
  s: /(?<c>#.*|\/\/.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<v>%[a-z0-9]+)|(?<d>\$?-?\b(?:0x[0-9a-f]+|\d+)\b)|(?<w>^\s+[a-z][\w.]*)/g,
  ptx: /(?<c>\/\/.*)|(?<s>"(?:[^"\\]|\\.)*")|(?<v>%[\w.]+)|(?<d>\b(?:0[xfdFD][0-9a-fA-F]+|\d+)\b)|(?<w>^\s*(?:@!?%\w+\s+)?[a-z.][\w.:]*)/g,
  sass: /(?<c>\/\*.*?\*\/)|(?<v>\b(?:U?R\d+|U?P\d|[US]R_\w+|RZ|PT|URZ)\b)|(?<d>\b(?:0x[0-9a-f]+|\d[\d.]*)\b)|(?<w>\b[A-Z][A-Z0-9]+(?:\.[A-Z0-9_.x]+)*\b)/g,
};
const paint = (line, kind) => {
  const pattern = tokens[kind];
  let html = '', at = 0;
  if (state.query) {  // matches instead of colours, so that neither cuts the other
    const lower = line.toLowerCase();
    for (let found = lower.indexOf(state.query); found >= 0; found = lower.indexOf(state.query, at)) {
      html += escapeHtml(line.slice(at, found)) + '<mark>' + escapeHtml(line.slice(found, found + state.query.length)) + '</mark>';
      at = found + state.query.length;
    }
    if (at) return html + escapeHtml(line.slice(at));
  }
  if (!pattern || line.length > 2000) return escapeHtml(line);
  for (const match of line.matchAll(pattern)) {
    const [name] = Object.entries(match.groups).find(([, text]) => text !== undefined);
    html += escapeHtml(line.slice(at, match.index)) + `<i class="${name}">` + escapeHtml(match[0]) + '</i>';
    at = match.index + match[0].length;
  }
  return html + escapeHtml(line.slice(at));
};

// ---- Panes ----
class Pane {
  constructor(stageIndex) {
    this.select = make('select', { ariaLabel: 'Stage of this pane', onchange: () => this.show(+this.select.value) });
    this.count = make('span', { className: 'count' });
    this.view = make('div', { className: 'view', tabIndex: 0, onscroll: () => this.draw() });
    this.space = make('div', { className: 'space' });
    this.map = make('canvas', { className: 'map', title: 'Where the lines are', onclick: e => this.jump(e) });
    this.view.append(this.space);
    const button = (text, label, action) => make('button', { textContent: text, title: label, ariaLabel: label, onclick: action });
    this.toggle = button('±', 'What this pass changed', () => this.showChanges(!this.changes));
    this.element = make('section', { className: 'pane' },
      make('div', { className: 'bar' }, this.select, this.count, button('↑', 'Previous of these lines', () => this.step(-1)),
        button('↓', 'Next of these lines', () => this.step(1)), this.toggle, button('+', 'Another pane beside this one', () => addPane(this)),
        button('×', 'Close this pane', () => closePane(this))),
      make('div', { className: 'body' }, this.view, this.map));
    this.space.addEventListener('mouseover', e => this.hover(e));
    this.space.addEventListener('mouseleave', () => { setHovered(null); $('layout').hidden = true; });
    this.space.addEventListener('click', e => this.click(e));
    this.view.addEventListener('focusin', () => { state.active = this; });
    this.fill();
    this.show(stageIndex);
  }
  fill() {
    this.select.replaceChildren(...data.stages.map((stage, i) => make('option', { value: i,
      textContent: stage.title + (stage.same === undefined ? '' : ' (no change)') + (state.query && stage.matches ? ` · ${stage.matches} found` : '') })));
    if (this.index !== undefined) this.select.value = this.index;
  }
  show(index) {
    this.index = index;
    this.select.value = index;
    const stage = data.stages[index];
    this.toggle.hidden = !stage.changes;
    this.toggle.ariaPressed = Boolean(this.changes && stage.changes);
    this.stage = this.changes && stage.changes ? changesOf(stage) : stage;
    this.element.dataset.stage = this.stage.name;
    this.element.dataset.kind = this.stage.kind;
    this.space.style.height = this.stage.lines.length * LINE + 'px';
    this.space.style.width = this.stage.width + 10 + 'ch';
    this.view.scrollTop = 0;
    this.at = -1;
    this.refresh();
    if (state.pinned) this.reveal();
    if (state.panes.includes(this)) remember();
  }
  /// Shows the stage whole, or with what its pass took away; begins at the first change.
  showChanges(on) {
    this.changes = on;
    this.show(this.index);
    if (this.stage.firsts?.length && !state.pinned) this.scrollTo(this.stage.firsts[0]);
  }
  /// What is highlighted here, the first time and after every change.
  refresh() {
    this.pinned = state.pinned && setsOf(state.pinned);
    this.marked = state.query ? this.stage.lines.flatMap((line, i) => line.toLowerCase().includes(state.query) ? [i] : []) : state.pinned ? linesWith(this.stage, this.pinned) : this.stage.firsts ?? [];
    const n = this.marked.length;
    const { from, added, removed } = this.stage, isDiff = from && !state.query && !state.pinned;
    this.count.title = isDiff ? `${plural(removed, 'line')} of ${from.title} became ${plural(added, 'line')}` : '';
    this.count.textContent = isDiff ? `−${removed.toLocaleString('en')} +${added.toLocaleString('en')}` : state.query ? `${n.toLocaleString('en')} found` : state.pinned ? plural(n, 'line') + ' tied' : plural(this.stage.lines.length, 'line');
    this.drawMap();
    this.draw(true);
  }
  draw(force) {
    const first = Math.max(0, Math.floor(this.view.scrollTop / LINE) - 15);
    const last = Math.min(this.stage.lines.length, Math.ceil((this.view.scrollTop + this.view.clientHeight) / LINE) + 15);
    if (!force && first === this.first && last === this.last) return;
    this.first = first, this.last = last;
    const hovered = state.hovered && setsOf(state.hovered);
    let html = '';
    for (let i = first; i < last; ++i) {
      const set = this.stage.setOf[i];
      const hue = set >= 0 ? ` style="top:${i * LINE}px;--hue:${hueOf(data.sets[set][0])}"` : ` style="top:${i * LINE}px"`;
      const classes = 'row' + (set >= 0 ? ' tied' : '') + (this.pinned?.has(set) ? ' pin' : '') + (hovered?.has(set) ? ' hit' : '') + (i === this.at ? ' at' : '') + (this.stage.fates?.[i] ? ' ' + this.stage.fates[i] : '');
      html += `<div class="${classes}" data-line="${i}"${hue}><span class="num">${this.stage.numbers?.[i] ?? i + 1}</span>${paint(this.stage.lines[i], this.stage.kind)}</div>`;
    }
    this.space.innerHTML = html;
  }
  relight() {
    const hovered = state.hovered && setsOf(state.hovered);
    for (const row of this.space.children) row.classList.toggle('hit', Boolean(hovered?.has(this.stage.setOf[row.dataset.line])));
  }
  drawMap() {
    const height = this.map.clientHeight, ratio = devicePixelRatio || 1, n = this.stage.lines.length;
    this.map.width = 11 * ratio, this.map.height = Math.max(1, height * ratio);
    const context = this.map.getContext('2d');
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(state.query ? '--mark' : '--accent');
    for (const line of this.marked) context.fillRect(2 * ratio, line / n * this.map.height, 8 * ratio, Math.max(1.5 * ratio, this.map.height / n));
  }
  setsAt(event) {
    const row = event.target.closest('.row');
    return row ? this.stage.setOf[row.dataset.line] : -1;
  }
  hover(event) {
    const set = this.setsAt(event);
    setHovered(set >= 0 ? data.sets[set] : null);
    showLayout(event, this.layoutAt(event.target));
  }
  /// The picture of the layout whose alias is pointed at.
  layoutAt(element) {
    if (!element.matches('i.v') || element.textContent[0] !== '#') return null;
    const stage = element.closest('.cut') ? this.stage.from : data.stages[this.index];
    return data.layouts[aliasesOf(stage).get(element.textContent)];
  }
  click(event) {
    const set = this.setsAt(event);
    if (String(getSelection())) return;  // text is being copied
    state.active = this;
    this.at = +event.target.closest('.row')?.dataset.line;
    setPinned(set >= 0 ? data.sets[set] : null, this);
  }
  jump(event) {
    this.scrollTo(Math.floor(event.offsetY / this.map.clientHeight * this.stage.lines.length));
  }
  scrollTo(line) {
    this.view.scrollTop = Math.max(0, (line + 0.5) * LINE - this.view.clientHeight / 2);
    this.draw(true);
  }
  /// Brings the first of the lines into view unless one of them is: of a dot's lines the dot, not the copies of what it reads.
  reveal(prefers = /^/) {
    const top = this.view.scrollTop / LINE, bottom = top + this.view.clientHeight / LINE - 1;
    const wanted = this.marked.filter(line => prefers.test(this.stage.lines[line])), lines = wanted.length ? wanted : this.marked;
    if (lines.length && !lines.some(line => line >= top && line <= bottom)) this.scrollTo(lines[0]);
  }
  step(direction) {
    if (!this.marked.length) return;
    const next = direction > 0 ? this.marked.find(line => line > this.at) : this.marked.findLast(line => line < this.at);
    this.at = next ?? this.marked[direction > 0 ? 0 : this.marked.length - 1];
    this.scrollTo(this.at);
    this.count.textContent = `${(this.marked.indexOf(this.at) + 1).toLocaleString('en')} of ${this.marked.length.toLocaleString('en')}`;
  }
}

const addPane = (beside, index) => {
  const pane = new Pane(index ?? Math.min((beside?.index ?? -1) + 1, data.stages.length - 1));
  state.panes.splice(beside ? state.panes.indexOf(beside) + 1 : state.panes.length, 0, pane);
  beside ? beside.element.after(pane.element) : $('panes').append(pane.element);
  refreshAll();
  remember();
};
const closePane = pane => {
  if (state.panes.length === 1) return;
  state.panes.splice(state.panes.indexOf(pane), 1);
  pane.element.remove();
  refreshAll();
  remember();
};
// The address says which stages are open and what is pinned, so that a link to what one sees can be sent.
const remember = () => history.replaceState(null, '', '#' + new URLSearchParams({ panes: state.panes.map(pane => pane.index + (pane.changes ? 'd' : '')), ...(state.pinned ? { pin: state.pinned } : {}) }));
const recall = () => {
  const address = new URLSearchParams(location.hash.slice(1)), numbers = name => (address.get(name) ?? '').split(',').filter(Boolean).map(text => parseInt(text, 10));
  const panes = numbers('panes').filter(index => data.stages[index]), pin = numbers('pin').filter(source => data.sources[source]);
  return { panes, changes: (address.get('panes') ?? '').split(',').map(text => text.endsWith('d')), pin };
};
const refreshAll = () => state.panes.forEach(pane => pane.refresh());

// ---- What is highlighted ----
const describe = sources => sources.length ? (sources.length > 3 ? sources.slice(0, 3).map(sourceName).join(', ') + ` and ${sources.length - 3} more` : sources.map(sourceName).join(', ')) : '';
const say = () => {
  const sources = state.hovered ?? state.pinned;
  const sets = sources && setsOf(sources);
  $('status').textContent = sources
    ? `${describe(sources)}   ·   ` + state.panes.map(pane => `${pane.stage.title} ${linesWith(pane.stage, sets).length.toLocaleString('en')}`).join('   ')
    : data.note;
};
const setHovered = sources => {
  if (state.hovered === sources) return;
  state.hovered = sources;
  state.panes.forEach(pane => pane.relight());
  say();
};
const setPinned = (sources, from, prefers) => {
  state.pinned = sources && sources.length ? sources : null;
  if (state.query) $('query').value = state.query = '', search();
  for (const pane of state.panes) {
    pane.refresh();
    if (pane !== from && state.pinned) pane.reveal(prefers);
  }
  lightChart();
  say();
  remember();
};

// ---- Search ----
const search = () => {
  state.query = $('query').value.trim().toLowerCase();
  let total = 0, places = 0;
  for (const stage of data.stages) {
    stage.matches = state.query ? stage.lines.reduce((n, line) => n + line.toLowerCase().includes(state.query), 0) : 0;
    if (stage.same === undefined) total += stage.matches, places += stage.matches > 0;
  }
  $('found').textContent = state.query ? (total ? `${total.toLocaleString('en')} in ${plural(places, 'stage')}` : 'nothing') : '';
  state.panes.forEach(pane => {
    pane.fill();
    pane.at = -1;
    pane.refresh();
    if (state.query && pane.marked.length) pane.scrollTo(pane.marked[0]);
  });
};

// ---- The schedule ----
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const drawChart = (chart, number) => {
  const left = Math.max(76, 8 + 7 * Math.max(...chart.rows.map(name => name.length))), width = 1400, row = 24, top = 4, height = top + chart.rows.length * row + 18;
  const x = cycle => left + (cycle - chart.begin) / (chart.end - chart.begin) * (width - left - 8);
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${chart.title}: which node occupies which unit, over two trips` });
  const step = 10 ** Math.floor(Math.log10((chart.end - chart.begin) / 4)) * 2;
  for (let cycle = 0; cycle <= chart.end - chart.begin; cycle += step) {
    drawing.append(svg('line', { class: 'grid', x1: x(chart.begin + cycle), x2: x(chart.begin + cycle), y1: top, y2: height - 16 }),
      svg('text', { class: 'tick', x: x(chart.begin + cycle) + 2, y: height - 5 }, Math.round(cycle).toLocaleString('en')));
  }
  chart.rows.forEach((name, i) => drawing.append(svg('text', { class: 'row-name', x: 0, y: top + i * row + 15 }, name)));
  for (const span of chart.spans) {
    const from = Math.max(x(span.begin), left), to = Math.min(x(span.end), width - 8);
    if (to <= from) continue;
    const node = chart.nodes[span.node], y = top + span.row * row;
    const label = svg('text', { x: from + 5, y: y + 15 }, span.part > 0.4 && to - from > 9 * (node?.name.length ?? 0) + 8 && !span.wait ? node.name : '');
    const group = svg('g', { class: span.wait ? 'wait' : 'span', 'data-chart': number, 'data-node': span.node },
      svg('rect', { x: from, y: y + (span.wait ? 10 : 2), width: Math.max(1, to - from - 1), height: span.wait ? 4 : row - 5, rx: span.wait ? 2 : 4, ...(span.wait ? {} : { fill: `hsl(${span.node * 67 % 360} 48% 37%)`, 'fill-opacity': Math.max(0.12, span.part) }) }), label);
    const what = span.wait ? `waits${node ? ' for ' + node.name : ' for its turn'}` : node.name + (node.what ? ': ' + node.what : '');
    group.addEventListener('mousemove', e => showTip(e, `${what}\n${chart.rows[span.row]}, ${Math.round(span.end - span.begin).toLocaleString('en')} cycles${span.part < 1 ? `, ${Math.round(100 * span.part)}% of the unit` : ''}`));
    group.addEventListener('mouseleave', () => { $('tip').hidden = true; });
    if (!span.wait && node.sources.length) group.addEventListener('click', () => setPinned(node.sources, null, node.what.startsWith('dot') ? /dot|mma/i : /^/));
    drawing.append(group);
  }
  $('chart').append(make('h2', {}, chart.title + ' ', make('code', { textContent: chart.schedule }), make('span', { textContent: '  ' + chart.note })), drawing);
  $('chart').hidden = false;
};
const lightChart = () => {
  const pinned = new Set(state.pinned ?? []);
  for (const group of $('chart').querySelectorAll('.span')) group.classList.toggle('lit', data.charts[group.dataset.chart].nodes[group.dataset.node].sources.some(s => pinned.has(s)));
};
// ---- The mix of instructions ----
const drawMix = () => {
  const mix = data.mix;
  if (!mix) return;
  const percent = (part, whole) => whole ? 100 * part / whole : 0;
  const cell = (count, total) => [make('td', { textContent: count.toLocaleString('en') }), make('td', { textContent: `${Math.round(percent(count, total))}%` }),
    make('td', { className: 'share' }, make('span', { style: `width:${percent(count, total)}%` }))];
  const row = (name, counts) => make('tr', {}, make('th', { textContent: name }), ...(mix.loop ? cell(counts[0], mix.total[0]) : []), ...cell(counts[1], mix.total[1]));
  const heading = text => make('th', { textContent: text, colSpan: 3 });
  const table = make('table', {}, make('tr', {}, make('th'), ...(mix.loop ? [heading('inner loop')] : []), heading('whole kernel')),
    ...mix.rows.map(([name, ...counts]) => row(name, counts)), row('all', mix.total));
  const place = mix.loop ? `; the inner loop is the one at ${mix.loop}${mix.line ? ', with line ' + mix.line : ''}` : '; no loop has dots or arithmetic';
  const most = mix.rows.map(([name, inLoop, all]) => [name, mix.loop ? percent(inLoop, mix.total[0]) : percent(all, mix.total[1])]).sort((a, b) => b[1] - a[1]).slice(0, 3);
  $('mix').append(make('summary', {}, 'Instructions', make('span', { textContent: `  ${mix.loop ? 'inner loop' : 'kernel'}: ${most.map(([name, share]) => `${name} ${Math.round(share)}%`).join(', ')} ...` })),
    make('p', { textContent: `Counted in the text of the ${mix.code}, each once${place}.` }), make('div', { className: 'wide' }, table));
  $('mix').hidden = false;
};

// ---- Pictures of layouts ----
const showLayout = (event, layout) => {
  const box = $('layout');
  box.hidden = !layout;
  if (!layout) return;
  const head = make('tr', {}, make('th'), ...layout.columns.map(name => make('th', { textContent: name })));
  const rows = layout.cells.map((cells, i) => make('tr', {}, make('th', { textContent: layout.rows[i] }),
    ...cells.map((text, j) => make('td', { textContent: text, style: `--hue:${layout.colours[i][j] * 360 / Math.max(1, layout.shades)}` }))));
  box.replaceChildren(make('b', { textContent: layout.title }), make('p', { textContent: layout.legend }), make('table', {}, head, ...rows));
  const { offsetWidth: width, offsetHeight: height } = box;
  box.style.left = Math.max(8, Math.min(event.clientX + 12, innerWidth - width - 8)) + 'px';
  const below = event.clientY + 18;
  box.style.top = Math.max(8, below + height <= innerHeight ? below : Math.min(event.clientY - 14, innerHeight - 8) - height) + 'px';
};

const showTip = (event, text) => {
  const tip = $('tip');
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = event.clientY + 16 + 'px';
};

// ---- Begin ----
$('title').textContent = data.title;
$('subtitle').textContent = data.subtitle;
for (const fact of data.facts)
  $('facts').append(make('div', { className: 'fact ' + (fact.tone ?? ''), title: fact.note ?? '' }, make('b', { textContent: fact.value }), make('span', { textContent: fact.label })));
data.charts.forEach(drawChart);
drawMix();
const asked = recall();
const usual = innerWidth > 1500 || data.panes.length < 4 ? data.panes : data.panes.filter((_, i) => i !== data.panes.length - 2);
for (const index of asked.panes.length ? asked.panes : usual) addPane(null, index);
/// Where a pane begins: at the inner loop, or else where the kernel's lines are; not at the licence, a prologue or a table of constants.
const beginning = ({ lines, setOf, name, kind }) => {
  const label = kind === 's' || kind === 'ptx' ? lines.findIndex(line => data.mix?.loop && line.startsWith(data.mix.loop + ':')) : -1;
  const tied = linesWith({ setOf }, setsOf(data.mix?.source === undefined ? [] : [data.mix.source]));
  const hot = tied.find(line => /dot|mma|vfm/i.test(lines[line])) ?? tied[0] ?? -1;
  const first = setOf.findIndex(set => set >= 0 && (name !== 'dsl' || data.used.includes(data.sets[set][0])));
  return label >= 0 ? label : hot >= 0 ? hot : first;
};
for (const pane of state.panes) {
  const first = beginning(pane.stage);
  if (first > 8) pane.scrollTo(first + Math.floor(pane.view.clientHeight / LINE / 2) - 3);
}
asked.changes.forEach((changes, i) => changes && state.panes[i]?.showChanges(true));
if (asked.pin.length) setPinned(asked.pin);
say();
let timer = 0;
$('query').addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(search, 80); });
addEventListener('resize', refreshAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', refreshAll);
addEventListener('keydown', event => {
  const typing = event.target === $('query');
  if (event.key === 'Escape') {
    $('query').value = '';
    $('query').blur();
    search();
    setPinned(null);
  } else if (event.key === '/' && !typing) {
    event.preventDefault();
    $('query').focus();
  } else if ((typing && event.key === 'Enter') || (!typing && (event.key === 'n' || event.key === 'p') && !event.ctrlKey && !event.metaKey)) {
    const back = event.key === 'p' || event.shiftKey;
    if (typing) { clearTimeout(timer); if (state.query !== $('query').value.trim().toLowerCase()) search(); }
    (state.active && state.panes.includes(state.active) && state.active.marked.length ? [state.active] : state.panes).forEach(pane => pane.step(back ? -1 : 1));
  }
});
document.documentElement.dataset.ready = Math.round(performance.now());
