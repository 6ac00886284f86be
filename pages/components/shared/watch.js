// Says to the server that what it has drawn is no longer how things are, when the server says so:
// the answer is the part of the page that this is in, drawn anew. Should a message be lost, the part
// is asked for again now and then while something goes on.
export default function ({ data, parentElement, setTriggerValue }) {
  clearInterval(parentElement.ecvAgain);
  if (data.changed) setTriggerValue("changed", data.changed);
  if (data.again) {
    const again = () => setTriggerValue("changed", -Date.now());
    parentElement.ecvAgain = setInterval(again, 1000 * data.again);
  }
  return () => clearInterval(parentElement.ecvAgain);
}
