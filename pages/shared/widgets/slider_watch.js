// Says "ecv-step" on the window for every step of a slider, as it moves: Streamlit itself tells the
// server only, and later. What listens reads window.ecvSteps[name].
export default function ({ data }) {
  const say = (step) => {
    window.ecvSteps ??= {};
    if (!Number.isInteger(step) || window.ecvSteps[data.slider] === step) return;
    window.ecvSteps[data.slider] = step;
    window.dispatchEvent(new CustomEvent("ecv-step", { detail: data.slider }));
  };
  const input = () => document.querySelector(`.st-key-${data.container} input[type="range"]`);
  const look = () => {
    const slider = input();
    if (slider) say(Math.round(Number(slider.value) - Number(slider.min || 0)));
  };
  const box = document.querySelector(`.st-key-${data.container}`);
  const watcher = new MutationObserver(look);
  if (box) {
    watcher.observe(box, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ["aria-valuetext", "value"],
    });
  }
  if (input()) look();
  else say(data.step);
  return () => watcher.disconnect();
}
