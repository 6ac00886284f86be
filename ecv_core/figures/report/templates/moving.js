const steps = JSON.parse(document.getElementById("steps").textContent);
const chart = document.getElementById("chart");
const sentence = document.getElementById("sentence");
const play = document.getElementById("play");
const slider = document.getElementById("step");
const stepName = document.getElementById("name");
const last = steps.sentences.length - 1;
const options = { responsive: true, displayModeBar: false };
const LONG_NOTE = 45; // letters
let timer = 0;

// The page says how high the chart is, for on a phone its legend needs more room.
for (const { layout } of [...steps.light, ...steps.dark]) delete layout.height;

// On a phone type is smaller, so that lines keep to the chart.
const fitted = (layout) => {
  if (chart.clientWidth > 560) return layout;
  const notes = (layout.annotations ?? []).map((note) => {
    const size = note.text.length > LONG_NOTE ? 11 : 13;
    return { ...note, font: { ...note.font, size } };
  });
  return { ...layout, font: { ...layout.font, size: 12 }, annotations: notes };
};

const show = (step) => {
  const figure = steps[looks.now][step];
  slider.value = step;
  sentence.textContent = steps.sentences[step];
  stepName.textContent = steps.names[step] ?? `${step} of ${last}`;
  slider.setAttribute("aria-valuetext", stepName.textContent);
  Plotly.react(chart, figure.data, fitted(figure.layout), options);
};

const pause = () => {
  clearInterval(timer);
  timer = 0;
  play.textContent = "Play";
};

const advance = () => {
  show(Number(slider.value) + 1);
  if (Number(slider.value) === last) pause();
};

play.addEventListener("click", () => {
  if (timer) {
    pause();
    return;
  }
  // At the end it begins again.
  if (Number(slider.value) === last) show(0);
  timer = setInterval(advance, 1000 * steps.seconds);
  play.textContent = "Pause";
});
slider.addEventListener("input", () => {
  pause();
  show(Number(slider.value));
});
window.addEventListener("look", () => show(Number(slider.value)));

// Paper is light.
let lookOnScreen = looks.now;
window.addEventListener("beforeprint", () => {
  lookOnScreen = looks.now;
  setLook("light");
});
window.addEventListener("afterprint", () => setLook(lookOnScreen));
show(Number(slider.value));
