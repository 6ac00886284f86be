export default function ({ data }) {
  const there = new URL(data.address, window.location.href);
  if (there.href !== window.location.href) window.location.replace(there);
}
