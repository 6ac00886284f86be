// A ranked list to rearrange, by dragging or with buttons; DCG, its ideal and nDCG follow, with the
// formula of ecv_core.evaluation: binary gain, discount 1 / log2(rank + 1), ideal cut at min(n, held
// out).
const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const discount = (rank) => 1 / Math.log2(rank + 1);

const gains = (hits, n) => hits.slice(0, n).map((hit, at) => (hit ? discount(at + 1) : 0));

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

const ideal = (held, n) =>
  Array.from({ length: Math.min(n, held) }, (_, at) => discount(at + 1));

const moving = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

const states = new WeakMap();

function build(node, { items, n }) {
  const held = items.filter((item) => item.hit).length;
  const list = element("ol", "ecv-list");
  list.setAttribute("aria-label", "The ranked list, best first");
  const side = element("div", "ecv-side");
  const value = element("output", "ecv-ndcg");
  const bar = element("div", "ecv-meter");
  const filled = element("div", "ecv-fill");
  bar.append(filled);
  const lines = element("dl", "ecv-lines");
  const buttons = element("div", "ecv-choices");
  side.append(value, bar, lines, buttons);
  const said = element("p", "ecv-hidden");
  said.setAttribute("aria-live", "polite");
  node.replaceChildren(list, side, said);

  const rows = items.map((item) => {
    const row = element("li", item.hit ? "ecv-item ecv-hit" : "ecv-item");
    row.dataset.item = item.name;
    const rank = element("span", "ecv-rank");
    const name = element("span", "ecv-name", item.name);
    name.append(element("small", "", item.hit ? "held out: a hit" : "not taken"));
    const weight = element("span", "ecv-weight");
    const worth = element("span", "ecv-worth");
    const [up, down] = [["↑", "up"], ["↓", "down"]].map(([sign, word]) => {
      const button = element("button", "ecv-move", sign);
      button.type = "button";
      button.setAttribute("aria-label", `Move ${item.name} ${word}`);
      button.onclick = () => shift(row, word === "up" ? -1 : 1, button);
      return button;
    });
    row.append(rank, name, weight, worth, up, down);
    row.onpointerdown = (event) => grab(row, event);
    return Object.assign(row, { hit: item.hit, parts: { rank, weight, worth, up, down } });
  });

  const order = () => [...list.children];

  // Move rows to where they belong and let them slide there from where they were.
  const arrange = (wanted, except) => {
    const before = new Map(order().map((row) => [row, row.getBoundingClientRect().top]));
    const kept = except ? wanted.indexOf(except) : -1;
    wanted.forEach((row, at) => {
      // The dragged row itself stays in the document, or the pointer would lose it.
      if (row === except) return;
      if (kept >= 0 && at < kept) list.insertBefore(row, except);
      else list.append(row);
    });
    paint();
    if (!moving()) return;
    wanted.forEach((row) => {
      if (row === except || !before.has(row)) return;
      const by = before.get(row) - row.getBoundingClientRect().top;
      if (by) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], 180);
    });
  };

  const shift = (row, by, button) => {
    const wanted = order();
    const at = wanted.indexOf(row);
    const to = Math.min(Math.max(at + by, 0), wanted.length - 1);
    if (to === at) return;
    wanted.splice(at, 1);
    wanted.splice(to, 0, row);
    arrange(wanted);
    (button.disabled ? (by < 0 ? row.parts.down : row.parts.up) : button).focus();
    said.textContent = `${row.dataset.item} is now at rank ${to + 1}. ${value.textContent}`;
  };

  const grab = (row, event) => {
    if (event.button !== 0 || event.target.closest("button")) return;
    event.preventDefault();
    row.setPointerCapture(event.pointerId);
    row.classList.add("ecv-dragged");
    const grip = event.clientY - row.getBoundingClientRect().top;
    row.onpointermove = (move) => {
      const wanted = order();
      const at = wanted.indexOf(row);
      row.style.transform = "none";
      const high = row.offsetHeight + 4;
      const offset = move.clientY - grip - row.getBoundingClientRect().top;
      const to = Math.min(Math.max(at + Math.round(offset / high), 0), wanted.length - 1);
      if (to !== at) {
        wanted.splice(at, 1);
        wanted.splice(to, 0, row);
        arrange(wanted, row);
      }
      const now = row.getBoundingClientRect().top;
      row.style.transform = `translateY(${move.clientY - grip - now}px)`;
    };
    row.onpointerup = row.onpointercancel = () => {
      row.onpointermove = row.onpointerup = row.onpointercancel = null;
      row.classList.remove("ecv-dragged");
      row.style.transform = "";
      said.textContent = value.textContent;
    };
  };

  const line = (term, text, name) => {
    const wrap = element("div", name);
    wrap.append(element("dt", "", term), element("dd", "", text));
    return wrap;
  };

  const terms = (numbers) => numbers.map((one) => one.toFixed(2)).join(" + ") || "0";

  const paint = () => {
    const now = order();
    const gained = gains(now.map((row) => row.hit), n);
    const best = ideal(held, n);
    const [dcg, most] = [sum(gained), sum(best)];
    const score = dcg / most;
    now.forEach((row, at) => {
      const inside = at < n;
      const weight = discount(at + 1);
      const { rank, weight: shown, worth, up, down } = row.parts;
      rank.textContent = String(at + 1);
      row.classList.toggle("ecv-outside", !inside);
      row.classList.toggle("ecv-last", at === n - 1);
      shown.style.setProperty("--share", inside ? weight : 0);
      worth.textContent = !inside ? "too low" : row.hit ? `+ ${weight.toFixed(2)}` : "0";
      up.disabled = at === 0;
      down.disabled = at === now.length - 1;
    });
    value.textContent = `nDCG@${n} = ${score.toFixed(2)}`;
    value.dataset.score = String(score);
    filled.style.width = `${100 * score}%`;
    const counted = gained.filter((one) => one > 0);
    lines.replaceChildren(
      line("DCG: this list", `${terms(counted)} = ${dcg.toFixed(2)}`, "ecv-line"),
      line("ideal: all hits on top", `${terms(best)} = ${most.toFixed(2)}`, "ecv-line"),
      line("nDCG: one by the other", `${dcg.toFixed(2)} / ${most.toFixed(2)} = ${score.toFixed(2)}`, "ecv-line"),
    );
  };

  const choice = (text, wanted) => {
    const button = element("button", "ecv-button", text);
    button.type = "button";
    button.onclick = () => {
      arrange(wanted());
      said.textContent = value.textContent;
    };
    buttons.append(button);
  };
  choice("Perfect", () => [...rows.filter((row) => row.hit), ...rows.filter((row) => !row.hit)]);
  choice("Worst", () => [...rows.filter((row) => !row.hit), ...rows.filter((row) => row.hit)]);
  choice("Start again", () => rows);
  list.append(...rows);
  paint();
  node.classList.add("ecv-learn-ready");
  return true;
}

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-rank-list");
  if (!states.has(node)) states.set(node, build(node, data));
}
