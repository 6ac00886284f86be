// Puts a parameter into the address. Streamlit itself would make each change a step for Back.
export default function ({ data }) {
  const url = new URL(window.location.href);
  if ((url.searchParams.get(data.name) ?? "") === data.value) return;
  if (data.value) url.searchParams.set(data.name, data.value);
  else url.searchParams.delete(data.name);
  window.history.replaceState(window.history.state, "", url);
}
