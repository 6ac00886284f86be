// Shows HTML of our own server, as it is told: the sentence of a run, or its numbers.
export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-told");
  return followed(parentElement, data, (entries) => {
    const html = entries[entries.shown];
    if (node.ecvHtml === html) return;
    node.ecvHtml = html;
    const focused = () => [...node.querySelectorAll("button, a")];
    const at = focused().indexOf(document.activeElement);
    node.innerHTML = html;
    if (at >= 0) focused()[at]?.focus();
  });
}
