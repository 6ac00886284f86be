// The glossary: filters as one types, and brings the entry that the address names into view.
const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const states = new WeakMap();

function build(node, entries) {
  const label = element("label", "ecv-search", "Search ");
  const input = element("input");
  Object.assign(input, { type: "search", placeholder: "alpha, fold, energy ...", autocomplete: "off" });
  const count = element("span", "ecv-count");
  count.setAttribute("aria-live", "polite");
  label.append(input, count);
  const list = element("dl", "ecv-entries");
  const shown = entries.map((entry) => {
    const wrap = element("div", "ecv-entry");
    wrap.id = entry.id;
    const title = element("dt");
    const anchor = element("a", "", entry.title);
    anchor.href = entry.address;
    title.append(anchor);
    const text = element("dd", "", entry.text);
    if (entry.chapter) {
      const told = element("a", "ecv-told", entry.told);
      told.href = `learn?chapter=${entry.chapter}`;
      text.append(" ", told);
    }
    wrap.append(title, text);
    list.append(wrap);
    return { wrap, words: `${entry.id} ${entry.title} ${entry.text}`.toLowerCase(), title: entry.title.toLowerCase() };
  });
  const none = element("p", "ecv-none", "No entry has all of these words; try fewer or shorter ones.");
  node.replaceChildren(label, list, none);
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = shown.filter((one) => words.every((word) => one.words.includes(word)));
    shown.forEach((one) => (one.wrap.hidden = !found.includes(one)));
    // Entries that are called so come before those that only mention it.
    const named = (one) => (words.length && words.every((word) => one.title.includes(word)) ? 0 : 1);
    const order = shown.map((one, at) => [named(one), at, one]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    list.append(...order.map(([, , one]) => one.wrap));
    count.textContent = `${found.length} of ${shown.length}`;
    none.hidden = found.length > 0;
  };
  input.oninput = filter;
  filter();
  node.classList.add("ecv-learn-ready");
  return { term: "" };
}

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-glossary");
  if (!states.has(node)) states.set(node, build(node, data.entries));
  const state = states.get(node);
  const wanted = data.term || decodeURIComponent(window.location.hash.slice(1));
  if (!wanted || wanted === state.term) return;
  state.term = wanted;
  const entry = [...node.querySelectorAll(".ecv-entry")].find((one) => one.id === wanted);
  if (!entry) return;
  node.querySelector(".ecv-here")?.classList.remove("ecv-here");
  entry.classList.add("ecv-here");
  // After the page has its height.
  setTimeout(() => entry.scrollIntoView({ block: "center" }), 150);
}
