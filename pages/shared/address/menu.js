// What readers of screens are told wrongly by Streamlit. On a narrow screen its menu is a list with
// headings in it, which no list may have; a place for files has a name and says that it is nothing; the
// column of boxes of a table has no name; a table that scrolls is not reached by the keyboard.
const EVERY = 300; // milliseconds between two looks, however much changes
const watchPage = () => {
  const list = "ul:has(a[href]):not(main ul)";
  const parts = `${list}:not([role]), ${list} li:not([role])`;
  const mend = () => {
    for (const part of document.querySelectorAll(parts)) part.setAttribute("role", "none");
    for (const place of document.querySelectorAll("[data-testid='stFileUploaderDropzone'][role='presentation']")) {
      place.setAttribute("role", "group");
    }
    for (const head of document.querySelectorAll("[data-testid='stDataFrame'] th:empty")) head.textContent = "picked";
    for (const table of document.querySelectorAll(".st-key-papers table:not([tabindex])")) table.tabIndex = 0;
  };
  let waits = 0;
  const later = () => {
    waits ||= setTimeout(() => {
      waits = 0;
      mend();
    }, EVERY);
  };
  const page = new MutationObserver(later);
  page.observe(document.body, { childList: true, subtree: true });
  mend();
  return page;
};

export default function () {
  window.ecvPage ??= watchPage();
}
