// Tells the server when the browser goes back or forth.
export default function ({ setTriggerValue }) {
  window.removeEventListener("popstate", window.ecvMoved); // drawn anew without a clean-up
  window.ecvMoved = () => setTriggerValue("moved", Date.now());
  window.addEventListener("popstate", window.ecvMoved);
  return () => window.removeEventListener("popstate", window.ecvMoved);
}
