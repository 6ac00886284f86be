// A sentence and a row of numbers that follow a slider; see slider_watch.js.
const element = (tag, name, text) => {
  const made = document.createElement(tag);
  made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-numbers");
  const sentence = element("p", "ecv-sentence");
  const list = element("dl", "ecv-row");
  const cells = data.labels.map(([label, help]) => {
    const cell = element("div", "ecv-cell");
    cell.title = help;
    const value = element("dd", "ecv-value");
    const note = element("dd", "ecv-note");
    cell.append(element("dt", "ecv-label", label), value, note);
    list.append(cell);
    return { value, note };
  });
  node.replaceChildren(sentence, ...(cells.length ? [list] : []));
  const paint = () => {
    // Not seen before it is known where the slider stands; its room is kept.
    node.style.visibility = window.ecvSteps?.[data.slider] === undefined ? "hidden" : "";
    const step = Math.min(window.ecvSteps?.[data.slider] ?? 0, data.sentences.length - 1);
    sentence.textContent = data.sentences[step].replaceAll(" %", "\u00a0%"); // on one line
    cells.forEach(({ value, note }, at) => {
      value.textContent = data.values[step][at];
      note.textContent = data.notes[step][at];
    });
  };
  const moved = ({ detail }) => {
    if (detail === data.slider) paint();
  };
  paint();
  window.addEventListener("ecv-step", moved);
  return () => window.removeEventListener("ecv-step", moved);
}
