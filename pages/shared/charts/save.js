// Saves a figure as PNG, SVG or a web page of its own, all of it in the browser.
const SAVE_MENU = `
<button type="button" aria-expanded="false" aria-label="Save this chart" title="Save this chart">
  <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
    <path d="M12 4v11m0 0 4.5-4.5M12 15l-4.5-4.5M5 19.5h14" stroke-linecap="round"
      stroke-linejoin="round"/>
  </svg>
</button>
<div class="ecv-save-choices" role="group" aria-label="Save this chart as" hidden>
  <button type="button" data-as="png">PNG, for slides</button>
  <button type="button" data-as="svg">SVG, for print</button>
  <button type="button" data-as="html">HTML, interactive</button>
  <p class="ecv-save-said" role="status"></p>
</div>`;
const NARROWEST = 760; // a picture from a phone is as readable as one from a desk
const PIXELS = 3; // of the PNG, per pixel of the page
const TITLE = 34; // pixels of the line that says what a picture shows
const FONT = "Arial, Helvetica, Liberation Sans, sans-serif";
// A picture cannot load a font: an SVG names one that all have, a PNG is painted with the page's.

const asData = (blob) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });

// The page's own faces of this family as style text; empty where it has none to give.
const facesOf = async (family) => {
  const faces = [];
  for (const sheet of document.styleSheets) {
    let rules = [];
    try {
      rules = [...sheet.cssRules];
    } catch {
      continue; // of another server
    }
    for (const { style, type } of rules) {
      if (type !== CSSRule.FONT_FACE_RULE || style.fontStyle === "italic") continue;
      if (style.fontFamily.replace(/["']/g, "") !== family) continue;
      const at = /url\(["']?([^"')]+)["']?\)/.exec(style.getPropertyValue("src"))?.[1];
      const answer = at && (await fetch(new URL(at, sheet.href ?? document.baseURI)));
      if (!answer?.ok) continue;
      const data = await asData(await answer.blob());
      const weight = style.fontWeight || "normal";
      faces.push(`@font-face{font-family:"${family}";font-weight:${weight};src:url(${data})}`);
    }
  }
  return faces.join("");
};

const painted = async (svg, { width, height }) => {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = width * PIXELS;
    canvas.height = height * PIXELS;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(image.src);
  }
};

const asText = (words) =>
  words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

// Zoomed axes and hidden traces stay as they are on the page.
const asSeen = (figure, node) => {
  const layout = { ...figure.layout };
  for (const [name, axis] of Object.entries(node.layout ?? {})) {
    if (!/^[xy]axis\d*$/.test(name) || !axis?.range) continue;
    layout[name] = { ...layout[name], range: [...axis.range], autorange: false };
  }
  const data = figure.data.map((one, at) => {
    const visible = node.data?.[at]?.visible;
    return visible === undefined ? one : { ...one, visible };
  });
  return { data, layout };
};

const webPage = async (figure, { alt, title, ground, ink, height, plotly, dark }) => {
  const answer = await fetch(plotly);
  if (!answer.ok) throw new Error(`plotly.js: ${answer.status}`);
  const script = (await answer.text()).replaceAll("</script", "<\\/script");
  const json = JSON.stringify(figure).replaceAll("<", "\\u003c");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${dark ? "dark" : "light"}">
<title>${asText(title)}</title>
<link rel="icon" href="data:,">
<style>
body { margin: 0; padding: 1.5rem; background: ${ground}; color: ${ink};
  font: 17px/1.5 "Source Sans", "Segoe UI", system-ui, sans-serif; }
main { max-width: 1100px; margin: 0 auto; }
figure { margin: 0; }
#chart { width: 100%; height: ${height}px; }
</style>
</head>
<body>
<main><figure><div id="chart" role="img" aria-label="${asText(alt)}"></div>
<figcaption>${asText(alt)}</figcaption></figure></main>
<script>${script}</script>
<script>
const figure = ${json};
Plotly.newPlot("chart", figure.data, figure.layout, {
  responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendChartToCloud"],
});
</script>
</body>
</html>
`;
};

const made = async (as, now, node) => {
  const { data, layout } = asSeen(now.figure, node);
  const width = Math.max(node.clientWidth, NARROWEST);
  if (as === "html") {
    const { height: _, width: __, ...rest } = layout;
    const text = await webPage({ data, layout: { ...rest, autosize: true } }, now);
    return new Blob([text], { type: "text/html" });
  }
  const own = layout.font.family.split(",")[0].replace(/["']/g, "").trim();
  const faces = as === "png" ? await facesOf(own).catch(() => "") : "";
  const font = faces ? layout.font : { ...layout.font, family: FONT };
  const picture = { data, layout: { ...layout, font, paper_bgcolor: now.ground }, config: {} };
  const options = { format: "svg", width, height: now.height, imageDataOnly: true };
  const drawing = await window.Plotly.toImage(picture, options);
  const { text, height } = captioned(drawing, { ...now, width, family: font.family, faces });
  if (as === "png") return painted(text, { width, height });
  return new Blob([text], { type: "image/svg+xml" });
};

// The drawing under a line with what it shows, such as 'item-knn on ml-100k, alpha 1e-4'.
const captioned = (drawing, { caption, note, alt, width, height, ground, ink, family, faces }) => {
  const svg = new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement;
  const add = (name, attributes, words = "") => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = words;
    svg.prepend(element);
  };
  const said = [caption, note].filter(Boolean).join(", ");
  const above = said ? TITLE : 0;
  svg.setAttribute("height", height + above);
  svg.setAttribute("viewBox", `0 ${-above} ${width} ${height + above}`);
  svg.setAttribute("role", "img");
  const place = { x: 12, y: -11, "font-family": family, "font-size": 17, fill: ink };
  if (said) {
    add("text", place, said);
    add("rect", { x: 0, y: -above, width, height: above, fill: ground });
  }
  if (faces) add("style", {}, faces);
  add("title", {}, alt);
  return { text: new XMLSerializer().serializeToString(svg), height: height + above };
};

const saveFile = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

// `now` gives what is on the page at this moment; see plot.js.
const saveMenu = (menu, node, now) => {
  if (!menu.firstChild) menu.innerHTML = SAVE_MENU;
  menu.hidden = false;
  const [toggle, choices] = menu.children;
  const said = menu.querySelector(".ecv-save-said");
  const open = (yes) => {
    choices.hidden = !yes;
    toggle.setAttribute("aria-expanded", String(yes));
    menu.toggleAttribute("data-open", yes);
    if (!yes) said.textContent = "";
  };
  toggle.onclick = () => {
    open(choices.hidden);
    if (!choices.hidden) choices.querySelector("button").focus();
  };
  menu.onkeydown = (event) => {
    const items = [...choices.querySelectorAll("button")];
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && !choices.hidden) {
      open(false);
      toggle.focus();
    } else if (step && at >= 0) {
      items[(at + step + items.length) % items.length].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  menu.onfocusout = (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) open(false);
  };
  const outside = (event) => {
    if (!menu.contains(event.target)) open(false);
  };
  document.addEventListener("pointerdown", outside);
  for (const choice of choices.querySelectorAll("button")) {
    choice.onclick = async () => {
      said.textContent = "Preparing the file ...";
      try {
        const what = now();
        saveFile(await made(choice.dataset.as, what, node), `${what.name}.${choice.dataset.as}`);
        said.textContent = "Saved.";
      } catch (error) {
        said.textContent = `It could not be saved: ${error.message}.`;
      }
    };
  }
  return () => document.removeEventListener("pointerdown", outside);
};
