// A table whose numbers follow a slider; see slider_watch.js.
const element = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-steps");
  node.setAttribute("aria-label", data.caption);
  const table = element("table");
  table.append(element("caption", data.caption));
  const head = element("thead");
  const groups = element("tr");
  groups.append(element("th", data.of, { rowspan: 2, scope: "col" }));
  const names = element("tr");
  for (const group of data.groups) {
    const wide = { colspan: data.columns.length, scope: "colgroup" };
    groups.append(element("th", group, wide));
    for (const column of data.columns) names.append(element("th", column, { scope: "col" }));
  }
  head.append(groups, names);
  const body = element("tbody");
  table.append(head, body);
  node.replaceChildren(table);
  const paint = () => {
    // Not seen before it is known where the slider stands; its room is kept.
    node.style.visibility = window.ecvSteps?.[data.slider] === undefined ? "hidden" : "";
    const step = Math.min(window.ecvSteps?.[data.slider] ?? 0, data.steps.length - 1);
    body.replaceChildren(
      ...data.steps[step].map(([rule, cells]) => {
        const row = element("tr");
        row.append(element("th", rule, { scope: "row" }));
        for (const [value, note] of cells) {
          const cell = element("td");
          cell.append(element("strong", value), element("small", note));
          row.append(cell);
        }
        return row;
      }),
    );
  };
  const moved = ({ detail }) => {
    if (detail === data.slider) paint();
  };
  paint();
  window.addEventListener("ecv-step", moved);
  return () => window.removeEventListener("ecv-step", moved);
}
