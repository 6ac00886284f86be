// On a narrow screen Streamlit's menu is a list with headings in it, which no list may have: readers of
// screens are told of links and headings instead. It is watched once, for as long as the tab is open.
const watchMenu = () => {
  const parts = ["", " li"].map((part) => `[data-testid="stSidebarNavItems"]${part}:not([role])`);
  const mend = () => {
    document.querySelectorAll(parts.join()).forEach((part) => part.setAttribute("role", "none"));
  };
  const menu = new MutationObserver(mend);
  menu.observe(document.body, { childList: true, subtree: true });
  mend();
  return menu;
};

export default function () {
  window.ecvMenu ??= watchMenu();
}
