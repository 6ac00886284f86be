// Has a part of the page drawn anew when what it shows has changed. All parts of a tab share one
// WebSocket, on which the server tells versions of what they show; see events.py.
const PATIENCE = 4000; // milliseconds for the part to be drawn anew, before it is asked for again
const FIRST_WAIT = 500; // until the next try to connect
const LONGEST_WAIT = 30_000;

const newEvents = () => {
  const parts = new Map(); // its element -> what it shows, and how to ask for it anew
  const told = new Map(); // topic -> "moment version", as the server said last
  let socket;
  let said = "";
  let wait = FIRST_WAIT;

  const outdated = ({ data }) =>
    Object.entries(data.versions).some(([topic, version]) => {
      if (document.hidden && data.often.includes(topic)) return false;
      const [moment, newest] = (told.get(topic) ?? "").split(" ");
      return Number(moment) > data.moment && newest !== version;
    });
  const look = () => {
    for (const part of parts.values()) {
      if (part.asked || !outdated(part)) continue;
      part.asked = setTimeout(() => {
        part.asked = 0; // an answer got lost
        look();
      }, PATIENCE);
      part.ask();
    }
  };
  const say = () => {
    const topics = [...parts.values()].flatMap(({ data }) => Object.keys(data.versions));
    const text = [...new Set(topics)].sort().join("\n");
    if (!text || text === said || socket?.readyState !== WebSocket.OPEN) return;
    said = text;
    socket.send(text);
  };
  const connect = () => {
    const address = new URL("events", document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    let opened = false;
    socket = new WebSocket(address);
    socket.onopen = () => {
      opened = true;
      wait = FIRST_WAIT;
      said = "";
      say();
    };
    socket.onmessage = (message) => {
      told.clear();
      for (const [topic, version] of Object.entries(JSON.parse(message.data))) {
        told.set(topic, version);
      }
      look();
    };
    socket.onclose = () => {
      socket = undefined;
      if (!opened) for (const part of parts.values()) part.ask(); // a proxy lets it not through
      again();
    };
  };
  const again = () => {
    wait = Math.min(2 * wait, LONGEST_WAIT);
    setTimeout(async () => {
      if (!parts.size || socket) return;
      const server = await fetch(new URL("_stcore/health", document.baseURI)).catch(() => null);
      if (parts.size && !socket) (server?.ok ? connect : again)();
    }, wait * (0.5 + Math.random() / 2));
  };
  document.addEventListener("visibilitychange", look);
  return {
    follow(element, part) {
      clearTimeout(parts.get(element)?.asked);
      parts.set(element, part);
      if (socket) queueMicrotask(say);
      else connect();
      look();
    },
    leave(element) {
      clearTimeout(parts.get(element)?.asked);
      parts.delete(element);
      queueMicrotask(say);
      setTimeout(() => parts.size || socket?.close(), PATIENCE);
    },
  };
};

export default function ({ data, parentElement, setTriggerValue }) {
  const events = (window.ecvEvents ??= newEvents());
  events.follow(parentElement, { data, ask: () => setTriggerValue("changed", Date.now()) });
  return () => events.leave(parentElement);
}
