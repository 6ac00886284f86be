// Draws a Plotly figure in place: Plotly.react keeps the node, so a new fold neither flickers nor
// loses a zoom. The page's own background decides between the light and the dark figure.
const PAPER_WIDTH = 690; // pixels of a sheet of A4 between its margins
const isDark = (element) => {
  const colour = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = colour || "#ffffff";
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(probe.fillStyle.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b < 128;
};

// On a phone the names of rows leave room for columns: they go on in a second and a third line.
const NAME_LINE = 12; // characters
const inLines = (name) => {
  const lines = [];
  for (const word of String(name).trim().split(" ")) {
    if (lines.length && `${lines.at(-1)} ${word}`.length <= NAME_LINE) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines.join("<br>");
};
const isTableOnPhone = (layout) =>
  window.innerWidth <= 640 && layout.xaxis?.side === "top" && Boolean(layout.yaxis?.tickvals);

// Of two tables side by side the smaller one sums up the larger: on a phone it comes first, in sight.
const withSumFirst = (layout) => {
  if (!layout.xaxis2) return layout;
  const [, end] = layout.xaxis.domain;
  const [start] = layout.xaxis2.domain;
  const xaxis = { ...layout.xaxis, domain: [1 - end, 1] };
  const xaxis2 = { ...layout.xaxis2, domain: [0, 1 - start] };
  return { ...layout, xaxis, xaxis2, yaxis: { ...layout.yaxis, anchor: "x2" } };
};
const withShortNames = (layout) => {
  if (!isTableOnPhone(layout)) return layout;
  const ticktext = layout.yaxis.tickvals.map(inLines);
  return withSumFirst({ ...layout, yaxis: { ...layout.yaxis, ticktext, tickfont: { size: 11 } } });
};

// What a cell says in brackets stands below its number there, in type that fits narrow columns.
const PHONE_CELL = 12; // pixels of its type at most
const withLowCells = ({ data, layout }) => {
  if (!isTableOnPhone(layout)) return data;
  const inTwoLines = (text) => String(text ?? "").replace(" (", "<br>(");
  return data.map((trace) => {
    if (trace.type !== "heatmap" || !trace.text) return trace;
    const size = Math.min(trace.textfont?.size ?? PHONE_CELL, PHONE_CELL);
    return { ...trace, text: trace.text.map((row) => row.map(inTwoLines)), textfont: { ...trace.textfont, size } };
  });
};

const narrowed = (given, width) => {
  const layout = withShortNames(given);
  if (width >= 560) return layout;
  const font = { ...layout.font, size: 13 };
  const legend = { ...layout.legend, font: { ...layout.legend.font, size: 12 } };
  const annotations = (layout.annotations ?? []).map((note) => ({
    ...note,
    font: { ...note.font, size: 13 },
  }));
  return { ...layout, font, legend, annotations };
};

// A trace without the points behind an end; Plotly draws as many as there are x.
const cut = (trace, end) => ({ ...trace, x: trace.x.filter((x) => x <= end) });

// A figure can have one entry per step of a slider: which of its variants to show, up to which x,
// and what of it to replace. The slider's own component says which step it is, so that nothing asks
// the server.
const shown = (data, dark) => {
  const figures = [JSON.parse(dark ? data.dark : data.light)].flat();
  if (!data.steps) return () => ({ same: 0, figure: figures[0], alt: data.alt, note: "" });
  const steps = JSON.parse(data.steps);
  return (step) => {
    const figure = figures[steps.variants[step] ?? 0] ?? figures[0];
    const patch = steps.patches[step] ?? {};
    const end = steps.ends[step];
    const traces = end === undefined ? figure.data : figure.data.map((one) => cut(one, end));
    return {
      same: steps.patches.length || steps.ends.length ? step : (steps.variants[step] ?? 0),
      figure: { ...figure, data: traces.map((one, at) => ({ ...one, ...patch[at] })) },
      alt: steps.alts[step] ?? data.alt,
      note: steps.notes[step] ?? "",
    };
  };
};

// The address of the run that a cell or point stands for; nothing for most figures.
const addressOf = (data, { x, y, text, data: trace }) => {
  const names = [`${x}|${y}`, `${trace.yaxis ?? "y"}|${y}`, text, trace.name];
  const found = data.opens?.[names.find((name) => name in data.opens)];
  return found && new URL(found, document.baseURI).href;
};

const opensRuns = (node, data) => {
  node.ecvOpens = data; // a figure that is drawn anew may stand for other runs
  if (node.ecvListens) return;
  node.ecvListens = true;
  const pointer = (shape) => {
    const drag = node.querySelector(".nsewdrag");
    if (drag) drag.style.cursor = shape;
  };
  node.on("plotly_hover", ({ points }) => {
    if (addressOf(node.ecvOpens, points[0])) pointer("pointer");
  });
  node.on("plotly_unhover", () => pointer(""));
  node.on("plotly_click", ({ points }) => {
    const address = addressOf(node.ecvOpens, points[0]);
    if (address) window.location.assign(address);
  });
};

// Figures are drawn one after the other, with a pause for the screen: the first of a page is seen
// before the last is drawn.
const inTurn = (work) => {
  const before = window.ecvTurn ?? Promise.resolve();
  const mine = before.then(() => new Promise((next) => setTimeout(next))).then(work);
  window.ecvTurn = mine.catch(() => {});
  return mine;
};

// A figure that follows a slider is not drawn before it is known where that stands.
const stepKnown = (data) => {
  const known = () => !data.steps || window.ecvSteps?.[data.slider] !== undefined;
  return new Promise((done) => {
    const look = () => {
      if (!known()) return;
      window.removeEventListener("ecv-step", look);
      done();
    };
    window.addEventListener("ecv-step", look);
    look();
  });
};

// A picture has its name from the first moment, so it is none as long as that is not known.
const named = (node, alt) => {
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", alt);
};

// What comes in the place of a run, such as the form after Back, is seen from its top.
const leave = (node) => {
  if (node.isConnected) return;
  window.ecvTop = undefined;
  document.querySelector("main")?.scrollTo(0, 0);
};

// What is seen, zoomed or with traces hidden, under a line with what it shows, such as 'item-knn on
// ml-100k, alpha 1e-4'. A picture cannot load a font, and one from a phone is as wide as from a desk.
const LINE = 34;
const save = (node, { caption, name, height }, format) => {
  const style = getComputedStyle(node);
  const text = [caption, node.ecvNote].filter(Boolean).join(", ");
  const place = { x: 0, xref: "container", y: 1, yref: "container", pad: { l: 12, t: 12 } };
  const { font, margin, ...layout } = node.layout;
  Object.assign(layout, {
    autosize: false,
    font: { ...font, family: "Arial, Helvetica, Liberation Sans, sans-serif" },
    margin: { ...margin, t: (margin?.t ?? 0) + LINE },
    paper_bgcolor: style.getPropertyValue("--st-background-color").trim(),
    title: { text, font: { size: 17, color: style.color }, xanchor: "left", yanchor: "top", ...place },
  });
  const size = { width: Math.max(node.clientWidth, 760), height: height + LINE };
  const scale = format === "png" ? 3 : 1;
  window.Plotly.downloadImage({ data: node.data, layout }, { ...size, format, scale, filename: name });
};

const config = { responsive: true, displaylogo: false, displayModeBar: false };
const drawn = new WeakMap();

export default function ({ data: given, parentElement }) {
  let data = given;
  const node = parentElement.querySelector(".ecv-figure");
  for (const button of parentElement.querySelectorAll(".ecv-save button")) {
    button.onclick = () => save(node, data, button.textContent.toLowerCase());
  }
  node.style.minHeight = `${data.height}px`;
  if (data.top && window.ecvTop !== data.top) {
    window.ecvTop = data.top;
    node.closest("main")?.scrollTo(0, 0);
  }
  const draw = async () => {
    const dark = isDark(node);
    const width = node.clientWidth;
    const state = `${dark}${width < 560}${data.steps ?? ""}${data.light}`;
    if (drawn.get(node) === state) return;
    drawn.set(node, state);
    const plotly = await loaded(data.plotly);
    await stepKnown(data);
    const at = shown(data, dark);
    if (drawn.get(node) !== state || !node.isConnected) return;
    let last;
    paint = () => {
      const step = window.ecvSteps?.[data.slider] ?? 0;
      const { same, figure, alt, note } = at(step);
      named(node, alt);
      node.ecvNote = note;
      if (drawn.get(node) !== state || same === last) return undefined;
      last = same;
      return plotly.react(node, withLowCells(figure), narrowed(figure.layout, width), config);
    };
    await (node.dataset.drawn ? paint() : inTurn(paint));
    if (Object.keys(data.opens ?? {}).length || node.ecvListens) opensRuns(node, data);
    node.dataset.drawn = "true";
  };
  let paint = () => {};
  let waiting = 0;
  let later = 0;
  const moved = ({ detail }) => {
    if (detail !== data.slider) return;
    cancelAnimationFrame(waiting); // only the newest step is worth painting
    clearTimeout(later);
    const { top, bottom } = node.getBoundingClientRect();
    if (bottom > 0 && top < window.innerHeight) waiting = requestAnimationFrame(() => paint());
    else later = setTimeout(() => paint(), 150); // nobody sees it: first what is in sight
  };
  if (data.steps) window.addEventListener("ecv-step", moved);
  const forget = followed(parentElement, given, (now) => {
    data = now;
    if (!data.steps) named(node, data.alt);
    draw().catch((error) => {
      drawn.delete(node);
      node.textContent = `${data.alt} (The figure itself is missing: ${error.message}.)`;
    });
  });
  const watcher = new MutationObserver(() => draw().catch(() => {}));
  watcher.observe(document.head, { childList: true, subtree: true });
  // Plotly follows the window alone; a presentation changes the room without it.
  const fit = () => {
    const width = node._fullLayout?.width;
    if (!node.dataset.drawn || !node.clientWidth || !width) return undefined;
    return Math.abs(width - node.clientWidth) > 1 ? window.Plotly.Plots.resize(node) : undefined;
  };
  const resized = new ResizeObserver(() => draw().then(fit).catch(() => {}));
  // The zoom of a presentation narrows the figure without a change of size that is observed.
  let again = 0;
  const zoomed = () => {
    clearTimeout(again);
    again = setTimeout(fit, 400);
  };
  window.addEventListener("ecv-zoom", zoomed);
  resized.observe(node);
  // On paper a figure is not laid out again by itself, so what is wider would be cut off.
  const onPaper = () => {
    if (!node.dataset.drawn || node.clientWidth <= PAPER_WIDTH) return;
    window.Plotly.relayout(node, { width: PAPER_WIDTH });
  };
  const onScreen = () => {
    if (node.dataset.drawn) window.Plotly.relayout(node, { width: null, autosize: true });
  };
  window.addEventListener("beforeprint", onPaper);
  window.addEventListener("afterprint", onScreen);
  return () => {
    window.removeEventListener("beforeprint", onPaper);
    window.removeEventListener("afterprint", onScreen);
    forget();
    if (data.top) setTimeout(() => leave(node));
    window.removeEventListener("ecv-step", moved);
    clearTimeout(later);
    clearTimeout(again);
    window.removeEventListener("ecv-zoom", zoomed);
    watcher.disconnect();
    resized.disconnect();
  };
}
