// How far a run is. Its clock goes on here, so that nobody asks the server for the time.
export default function ({ data, parentElement }) {
  const [text, bar] = parentElement.querySelector(".ecv-progress").children;
  const forget = followed(parentElement, data, (now) => {
    const since = now.at ?? performance.now();
    const percent = Math.floor(100 * now.part);
    clearInterval(parentElement.ecvClock);
    if (now.tab) document.title = `${now.tab} · ${now.name}`;
    bar.setAttribute("aria-label", now.title);
    bar.setAttribute("aria-valuenow", percent);
    bar.firstChild.style.width = `${percent}%`;
    const title = document.createElement("strong");
    title.textContent = now.title;
    const rest = document.createTextNode("");
    text.replaceChildren(title, rest);
    const paint = () => {
      const elapsed = now.elapsed + (now.ticks ? (performance.now() - since) / 1000 : 0);
      const clock = now.elapsed === null ? "" : `${duration(elapsed)} elapsed`;
      rest.data = ["", now.words, clock, now.rest].filter((said, at) => !at || said).join(" · ");
    };
    paint();
    if (now.ticks) parentElement.ecvClock = setInterval(paint, 1000);
  });
  return () => {
    clearInterval(parentElement.ecvClock);
    forget();
  };
}
