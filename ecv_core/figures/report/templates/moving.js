const { figures, sentences, seconds } = JSON.parse(document.getElementById("steps").textContent);
const chart = document.getElementById("chart");
const sentence = document.getElementById("sentence");
const play = document.getElementById("play");
const slider = document.getElementById("step");
const options = { responsive: true, displayModeBar: false };
let timer = 0;

// The page says how high the chart is, for on a phone its legend needs more room.
for (const { layout } of figures) delete layout.height;

const show = (step) => {
  slider.value = step;
  sentence.textContent = sentences[step];
  Plotly.react(chart, figures[step].data, figures[step].layout, options);
};

const pause = () => {
  clearInterval(timer);
  timer = 0;
  play.textContent = "Play";
};

const advance = () => {
  show(Number(slider.value) + 1);
  if (Number(slider.value) === figures.length - 1) pause();
};

play.addEventListener("click", () => {
  if (timer) {
    pause();
    return;
  }
  // At the end it begins again.
  if (Number(slider.value) === figures.length - 1) show(0);
  timer = setInterval(advance, 1000 * seconds);
  play.textContent = "Pause";
});
slider.addEventListener("input", () => {
  pause();
  show(Number(slider.value));
});
show(0);
