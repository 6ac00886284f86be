// Moves a component that follows "ecv-progress": each fold lasts as its seconds say.
const plays = JSON.parse(document.getElementById("plays").textContent);
const PLAYING_SECONDS = 12; // for the whole
const last = plays.seconds.length;
const speed = plays.seconds.reduce((total, seconds) => total + seconds, 0) / PLAYING_SECONDS;
const play = document.getElementById("play");
const slider = document.getElementById("step");
const stepName = document.getElementById("name");
const wantsSteps = window.matchMedia("(prefers-reduced-motion: reduce)");
let frame = 0;
let before = 0;
let progress = 0;

const moveTo = (place) => {
  progress = Math.min(place, last);
  const shown = wantsSteps.matches ? Math.floor(progress) : progress;
  window.ecvProgress = { [plays.name]: shown };
  slider.value = shown;
  stepName.textContent = `${Math.floor(progress)} of ${last} folds`;
  slider.setAttribute("aria-valuetext", stepName.textContent);
  window.dispatchEvent(new CustomEvent("ecv-progress", { detail: plays.name }));
};

const pause = () => {
  cancelAnimationFrame(frame);
  frame = 0;
  play.textContent = "Play";
};

const advance = (now) => {
  // A frame may have begun before the press that it follows.
  const seconds = (speed * Math.max(now - before, 0)) / 1000;
  before = now;
  moveTo(progress + seconds / plays.seconds[Math.floor(progress)]);
  if (progress < last) frame = requestAnimationFrame(advance);
  else pause();
};

play.addEventListener("click", () => {
  if (frame) {
    pause();
    return;
  }
  if (progress === last) moveTo(0); // at the end it begins again
  play.textContent = "Pause";
  before = performance.now();
  frame = requestAnimationFrame(advance);
});
slider.addEventListener("input", () => {
  pause();
  moveTo(Number(slider.value));
});
moveTo(0);
