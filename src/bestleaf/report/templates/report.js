"use strict";
(() => {
  const canvas = document.getElementById("dag"), tip = document.getElementById("tip"), context = canvas.getContext("2d");
  const nodes = graph.nodes, edges = graph.edges, way = new Set(graph.way), levels = [];
  nodes.forEach((node, place) => (levels[node[0]] = levels[node[0]] || []).push(place));
  const xs = new Float64Array(nodes.length), ys = new Float64Array(nodes.length), above = nodes.map(() => []);
  edges.forEach(([one, other]) => above[other].push(one));
  const widest = Math.max(1, ...levels.map((row) => (row ? row.length : 0))), rows = levels.length;
  levels.forEach((row, level) => {
    if (!row) return;
    const middle = (place) => above[place].length ? above[place].reduce((sum, one) => sum + xs[one], 0) / above[place].length : 0;
    row.map((place) => [middle(place), place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).forEach(([, place], order) => {
      xs[place] = (order + 1) / (row.length + 1) * widest; ys[place] = level;
    });
  });
  let scale = 1, left = 0, top = 0, matches = null, onlyWay = false, hovered = -1, width = 0, height = 0;
  const at = (place) => [left + xs[place] / widest * width * scale, top + (ys[place] + 0.5) / rows * height * scale];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = canvas.clientHeight;
    canvas.width = width * ratio; canvas.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const [line, ink, answer, exact, noise] = ["--line", "--ink", "--answer", "--exact", "--noise"].map(colour);
    const dim = (place) => (matches && !matches.has(place)) || (onlyWay && !way.has(place));
    for (const lit of [false, true]) {
      context.beginPath();
      for (const [one, other] of edges) {
        const shown = way.has(one) && way.has(other);
        if (shown !== lit) continue;
        context.moveTo(...at(one)); context.lineTo(...at(other));
      }
      context.globalAlpha = lit ? 0.9 : Math.min(0.8, 600 / edges.length + 0.08);
      context.lineWidth = lit ? 2 : 1; context.strokeStyle = lit ? answer : line; context.stroke();
    }
    const size = Math.max(1.5, Math.min(6, 120 / Math.sqrt(nodes.length))) * Math.min(2, Math.sqrt(scale));
    const labels = [];
    nodes.forEach((node, place) => {
      const [x, y] = at(place);
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) return;
      context.globalAlpha = dim(place) ? 0.12 : 1;
      context.fillStyle = place === graph.answer ? answer : [ink, noise, exact][node[4]];
      context.beginPath(); context.arc(x, y, place === graph.answer || place === hovered ? size * 1.8 : size, 0, 7); context.fill();
      if (matches && matches.has(place) && matches.size < 40 || place === graph.answer) {
        context.font = "12px system-ui, sans-serif";
        const words = node[1].length > 40 ? node[1].slice(0, 39) + "…" : node[1], half = context.measureText(words).width / 2;
        const middle = Math.max(half + 6, Math.min(width - half - 6, x)), base = y - size * 2 < 16 ? y + size * 2 + 14 : y - size * 2 - 2;
        labels.push([words, middle, base, half]);
      }
    });
    context.textAlign = "center";
    for (const [words, middle, base, half] of labels) {
      context.globalAlpha = 0.85; context.fillStyle = colour("--paper"); context.fillRect(middle - half - 4, base - 12, 2 * half + 8, 16);
      context.globalAlpha = 1; context.fillStyle = ink; context.fillText(words, middle, base);
    }
    context.globalAlpha = 1;
  }
  function zoom(factor, x = width / 2, y = height / 2) {
    const next = Math.max(0.5, Math.min(60, scale * factor));
    left = x - (x - left) * next / scale; top = y - (y - top) * next / scale; scale = next; draw();
  }
  function nearest(x, y) {
    let best = -1, least = 14 * 14;
    for (let place = 0; place < nodes.length; place++) {
      const [a, b] = at(place), distance = (a - x) ** 2 + (b - y) ** 2;
      if (distance < least) { best = place; least = distance; }
    }
    return best;
  }
  function hover(x, y) {
    const place = nearest(x, y);
    if (place !== hovered) { hovered = place; draw(); }
    tip.hidden = place < 0;
    if (place < 0) return;
    const node = nodes[place], kind = ["node", "leaf of rollouts", "exact leaf"][node[4]];
    tip.textContent = `${node[1]} — ${node[2].toFixed(4)} to ${node[3].toFixed(4)} (${kind}${node[5] ? `, ${node[5].toLocaleString("en")} sample${node[5] === 1 ? "" : "s"}` : ""})`;
    tip.style.left = `${Math.min(x + 12, Math.max(0, width - tip.offsetWidth - 8))}px`; tip.style.top = `${Math.max(0, y - tip.offsetHeight - 10)}px`;
  }
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = [event.clientX - left, event.clientY - top]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    if (drag) { left = event.clientX - drag[0]; top = event.clientY - drag[1]; draw(); } else hover(event.clientX - box.left, event.clientY - box.top);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; hovered = -1; draw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    if (step) { left += step[0]; top += step[1]; draw(); event.preventDefault(); }
    if (event.key === "+" || event.key === "=") zoom(1.2);
    if (event.key === "-") zoom(1 / 1.2);
  });
  document.getElementById("closer").addEventListener("click", () => zoom(1.4));
  document.getElementById("farther").addEventListener("click", () => zoom(1 / 1.4));
  document.getElementById("whole").addEventListener("click", () => { scale = 1; left = top = 0; onlyWay = false; draw(); });
  document.getElementById("path").addEventListener("click", () => { onlyWay = !onlyWay; draw(); });
  document.getElementById("find").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    matches = wanted ? new Set(nodes.map((node, place) => place).filter((place) => nodes[place][1].toLowerCase().includes(wanted))) : null;
    document.getElementById("found").textContent = matches ? `${matches.size.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} nodes` : "";
    draw();
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  window.bestleafReport = { at: (place) => at(place), nodes: nodes.length, answer: graph.answer };
})();
