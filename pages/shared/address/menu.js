// On a narrow screen Streamlit's menu is a list with headings in it, which no list may have: readers of
// screens are told of links and headings instead. A wide screen has no such list, and nothing is watched.
const watchMenu = () => {
  const list = "ul:has(a[href]):not(main ul)";
  const parts = `${list}:not([role]), ${list} li:not([role])`;
  const mend = () => {
    document.querySelectorAll(parts).forEach((part) => part.setAttribute("role", "none"));
  };
  const menu = new MutationObserver(mend);
  const narrow = window.matchMedia("(max-width: 1024px)");
  const watch = () => {
    menu.disconnect();
    if (narrow.matches) menu.observe(document.body, { childList: true, subtree: true });
    mend();
  };
  narrow.addEventListener("change", watch);
  watch();
  return menu;
};

export default function () {
  window.ecvMenu ??= watchMenu();
}
