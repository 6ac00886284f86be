// Shows HTML of our own server, as it is told: the answer of a page. What is open stays open.
export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-told");
  return followed(parentElement, data, ({ html }) => {
    if (node.ecvHtml === html) return;
    node.ecvHtml = html;
    const focusable = () => [...node.querySelectorAll("button, a, summary")];
    const folded = () => [...node.querySelectorAll("details")];
    const at = focusable().indexOf(document.activeElement);
    const open = folded().map((details) => details.open);
    node.innerHTML = html;
    folded().forEach((details, place) => (details.open = open[place] ?? false));
    if (at >= 0) focusable()[at]?.focus();
  });
}
