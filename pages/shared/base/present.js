// Makes what is presented as large as the screen allows, and takes the whole screen where a press led
// here: Esc leaves it, F changes between the two.
const fullScreen = () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen?.().catch(() => {});
};

const NARROWEST = 1024; // the page is laid out at least so wide, so that words do not wrap more

export default function ({ setTriggerValue }) {
  const leave = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    setTriggerValue("leave", true);
  };
  let zoom = 1;
  const fit = () => {
    const parts = [...document.querySelectorAll('[class*="st-key-presented"]')];
    const bottom = Math.max(...parts.map((part) => part.getBoundingClientRect().bottom));
    if (!(bottom > 100)) return;
    const most = window.innerWidth / NARROWEST;
    const wanted = Math.min((zoom * window.innerHeight) / (bottom + 8), Math.max(most, 1));
    if (Math.abs(wanted - zoom) < 0.01) return;
    zoom = Math.max(wanted, 0.6);
    document.documentElement.style.setProperty("--ecv-zoom", zoom.toFixed(3));
    window.dispatchEvent(new CustomEvent("ecv-zoom")); // figures measure again
  };
  const pressed = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") leave();
    else if (event.key === "f") fullScreen();
  };
  if (!window.ecvPresented && navigator.userActivation?.isActive && !document.fullscreenElement) {
    fullScreen(); // once: whoever has left it does not want it back with the next fold
  }
  window.ecvPresented = true;
  document.activeElement?.blur?.(); // the button that led here would take the space bar
  const looking = setInterval(fit, 500); // figures come one by one
  window.addEventListener("keydown", pressed);
  window.addEventListener("resize", fit);
  window.addEventListener("ecv-leave", leave);
  window.addEventListener("ecv-full", fullScreen);
  return () => {
    if (!location.search.includes("present=")) window.ecvPresented = false;
    clearInterval(looking);
    window.removeEventListener("keydown", pressed);
    window.removeEventListener("resize", fit);
    window.removeEventListener("ecv-leave", leave);
    window.removeEventListener("ecv-full", fullScreen);
  };
}
