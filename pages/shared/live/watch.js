// Has a part of the page drawn anew when what it shows has changed. All parts of a tab share one
// WebSocket, on which the server tells versions of what they show, and what all who watch are shown
// alike, which components take by shared.js; see events.py. Nothing is asked for while a page is
// drawn, or between a step to another page and that page: Streamlit makes one of what is asked for
// at once, by the newest wish, and the step would be lost.
const PATIENCE = 4000; // milliseconds for a part to be drawn anew, before it is asked for again
const FIRST_WAIT = 500; // until the next try to connect
const LONGEST_WAIT = 30_000;
const SOON = 50; // until it is looked again whether the page is drawn

const newEvents = () => {
  const parts = new Map(); // its element -> what it shows, and how to ask for it anew
  const told = new Map(); // topic -> "moment version", as the server said last
  let asked; // the element of the part that is waited for
  let patience;
  let later;
  let looks = 0; // at a page that is drawn
  let leaving; // the path of the page whose link to another was pressed
  let socket;
  let said = "";
  let wait = FIRST_WAIT;

  const outdated = ({ data }) =>
    Object.entries(data.versions).some(([topic, version]) => {
      if (document.hidden && data.often.includes(topic)) return false;
      const [moment, newest] = (told.get(topic) ?? "").split(" ");
      return Number(moment) > data.moment && newest !== version;
    });
  const isOf = (pathname, { data: { path } }) =>
    path ? pathname.replace(/\/$/, "").endsWith(`/${path}`) : pathname.endsWith("/");
  // One after the other: of what is asked for at once, Streamlit draws one part only.
  const look = () => {
    const { pathname } = window.location;
    if (asked || leaving === pathname) return;
    const old = [...parts].filter(
      ([element, part]) => element.isConnected && isOf(pathname, part) && outdated(part),
    );
    const [element, part] = old.find(([, { data }]) => data.page) ?? old.at(-1) ?? [];
    clearTimeout(later);
    if (!element) return;
    const drawing = document.querySelector("[data-ecv-drawing]"); // see main.py
    if (drawing && (looks += 1) < PATIENCE / SOON) {
      later = setTimeout(look, SOON);
      return;
    }
    looks = 0;
    asked = element;
    patience = setTimeout(answered, PATIENCE, element);
    part.ask();
  };
  const answered = (element) => {
    if (element === asked) {
      clearTimeout(patience);
      asked = undefined;
    }
    queueMicrotask(look);
  };
  const say = () => {
    const lines = [...parts.values()].flatMap(({ data: { versions, tokens } }) => [
      ...Object.keys(versions),
      ...tokens.map((token) => `shared ${token}`),
    ]);
    const text = [...new Set(lines)].sort().join("\n");
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
      window.ecvShared = {}; // another server has another clock
      say();
    };
    socket.onmessage = (message) => {
      const news = JSON.parse(message.data);
      if (news.shared) {
        window.ecvShared[news.shared] = { ...news, at: performance.now() };
        window.dispatchEvent(new CustomEvent("ecv-shared", { detail: news.shared }));
        return;
      }
      told.clear();
      for (const [topic, version] of Object.entries(news)) told.set(topic, version);
      look();
    };
    socket.onclose = () => {
      socket = undefined;
      if (!opened) [...parts.values()].forEach((part, at) => setTimeout(part.ask, 500 * at));
      again();
    };
  };
  const again = () => {
    wait = Math.min(2 * wait, LONGEST_WAIT);
    setTimeout(async () => {
      if (!parts.size || socket) return;
      const server = await fetch(new URL("healthz", document.baseURI)).catch(() => null);
      if (parts.size && !socket) (server?.ok ? connect : again)();
    }, wait * (0.5 + Math.random() / 2));
  };
  const pressed = ({ target }) => {
    const href = target.closest("a[href]")?.getAttribute("href");
    const { pathname } = window.location;
    if (!href || new URL(href, window.location).pathname === pathname) return;
    leaving = pathname;
    setTimeout(() => {
      leaving = undefined;
      look();
    }, PATIENCE);
  };
  document.addEventListener("click", pressed, { capture: true });
  document.addEventListener("visibilitychange", look);
  return {
    follow(element, part) {
      parts.set(element, part);
      if (socket) queueMicrotask(say);
      else connect();
      answered(element);
    },
    leave(element) {
      parts.delete(element);
      answered(element);
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
