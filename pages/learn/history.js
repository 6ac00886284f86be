// Tells the server when the browser goes back or forth within the course. To another page it tells
// nothing: Streamlit would take it for a wish to stay.
export default function ({ setTriggerValue }) {
  const { pathname } = window.location;
  window.removeEventListener("popstate", window.ecvMoved); // drawn anew without a clean-up
  window.ecvMoved = () => {
    if (window.location.pathname === pathname) setTriggerValue("moved", Date.now());
  };
  window.addEventListener("popstate", window.ecvMoved);
  return () => window.removeEventListener("popstate", window.ecvMoved);
}
