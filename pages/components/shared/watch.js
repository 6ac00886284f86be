// Says to the server that what it has drawn is no longer how things are, when the server says so:
// the answer is the part of the page that this is in, drawn anew.
export default function ({ data, setTriggerValue }) {
  if (data.changed) setTriggerValue("changed", data.changed);
}
