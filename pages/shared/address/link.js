// Copies the page's address; what is at its default is written out, so that it stays as it is.
// Parts of the page say what that is, see write_into_link.
const told = () =>
  [...document.querySelectorAll("[data-ecv-link]")].map((part) => JSON.parse(part.dataset.ecvLink));

const addressOf = (params) => {
  const url = new URL(window.location.href);
  for (const [name, values] of Object.entries(params)) {
    if (url.searchParams.has(name)) continue; // newer than what the server knew
    for (const value of values) url.searchParams.append(name, value);
  }
  return url.href;
};

const copied = async (text, input) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No clipboard without https: the old way, which needs text that is selected.
    input.hidden = false;
    input.value = text;
    input.select();
    return document.execCommand("copy");
  }
};

export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  const label = parentElement.querySelector(".ecv-link-label");
  const input = parentElement.querySelector("input");
  const said = parentElement.querySelector("[role=status]");
  button.title = "Whoever opens it sees this view";
  let later = 0;
  button.onclick = async () => {
    const parts = told();
    const without = parts.map((part) => part.without).filter(Boolean).join(", ");
    const lacks = without ? `, without ${without}` : "";
    const done = await copied(addressOf(Object.assign({}, ...parts.map(({ params }) => params))), input);
    if (done) input.hidden = true;
    label.textContent = done ? `Link copied${lacks}` : "Copy it from here";
    said.textContent = done ? `The link to this view is copied${lacks}.` : "The link is in the field.";
    clearTimeout(later);
    later = setTimeout(() => {
      label.textContent = "Copy link";
      said.textContent = "";
    }, 4000);
  };
  return () => clearTimeout(later);
}
