// What was kept is said at the top of a page that was scrolled down to the button; once for each.
export default function ({ data }) {
  if (window.ecvTop === data.kept) return;
  window.ecvTop = data.kept;
  document.querySelector("main")?.scrollTo(0, 0);
}
