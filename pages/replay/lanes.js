// Two lanes over the same folds: one stops, the other goes on. It follows a player ("ecv-progress").
const make = (tag, name, text) => {
  const made = document.createElement(tag);
  made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const lane = (data, at) => {
  const node = make("div", `ecv-lane ecv-lane-${at}`);
  const head = make("div", "ecv-lane-head");
  const says = make("span", "ecv-lane-says");
  head.append(make("strong", "", data.lanes[at].name), says);
  const track = make("div", "ecv-track");
  track.setAttribute("aria-hidden", "true"); // the words above it say as much
  const cells = data.seconds.map((seconds, fold) => {
    const cell = make("div", "ecv-cell-fold");
    cell.style.flexGrow = Math.max(seconds, data.total / 200);
    cell.title = data.titles[fold];
    const fill = make("div", "ecv-fill");
    cell.append(fill, make("span", "ecv-fold-name", String(fold + 1)));
    cell.classList.toggle("ecv-guess", !data.ran[fold]);
    track.append(cell);
    return { cell, fill };
  });
  node.append(head, track);
  return { node, says, cells };
};

const paintLane = (data, at, { says, cells, node }, progress) => {
  const end = data.lanes[at].end;
  const reached = end === null ? progress : Math.min(progress, end);
  cells.forEach(({ cell, fill }, fold) => {
    const part = Math.max(0, Math.min(reached - fold, 1));
    fill.style.transform = `scaleX(${part})`;
    cell.classList.toggle("ecv-spared", end !== null && fold >= end && progress >= end);
  });
  node.classList.toggle("ecv-over", end !== null && progress >= end);
  const text = data.lanes[at].says[Math.floor(reached)];
  if (says.textContent !== text) says.textContent = text;
};

const between = (values, progress) => {
  const n = Math.min(Math.floor(progress), values.length - 1);
  const next = Math.min(n + 1, values.length - 1);
  return values[n] + (values[next] - values[n]) * (progress - n);
};

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-race");
  node.ecvStop?.(); // new data comes without a clean-up of the old
  const lanes = data.lanes.map((_, at) => lane(data, at));
  const counters = make("dl", "ecv-counters");
  const cells = data.counters.map(({ label }) => {
    const cell = make("div", "ecv-counter");
    const value = make("dd", "");
    cell.append(make("dt", "", label), value);
    counters.append(cell);
    return value;
  });
  const verdict = make("p", "ecv-verdict");
  verdict.setAttribute("role", "status");
  node.replaceChildren(...lanes.map((one) => one.node), counters, verdict);
  let waiting = 0;
  const now = () => window.ecvProgress?.[data.slider] ?? window.ecvSteps?.[data.slider] ?? 0;
  const paint = () => {
    waiting = 0;
    const progress = Math.min(now(), data.seconds.length);
    lanes.forEach((one, at) => paintLane(data, at, one, progress));
    data.counters.forEach(({ values, decimals, unit }, at) => {
      const value = between(values, progress);
      cells[at].textContent = unit ? `${value.toFixed(decimals)} ${unit}` : duration(value);
    });
    const text = data.verdicts[Math.floor(progress)];
    if (verdict.textContent !== text) verdict.textContent = text;
  };
  const ask = () => {
    waiting ||= requestAnimationFrame(paint);
  };
  const moved = ({ detail }) => {
    if (detail === data.slider) ask();
  };
  paint();
  window.addEventListener("ecv-progress", moved);
  node.ecvStop = () => {
    cancelAnimationFrame(waiting);
    window.removeEventListener("ecv-progress", moved);
  };
  return node.ecvStop;
}
