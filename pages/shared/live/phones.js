// The lecturer's side of a lecture: a panel above the page with the code, the address and how many
// follow; and every half second, where it has changed, what the page shows is sent to the phones.
// See classroom.py. The panel is no part of the page, of which a presentation hides most.
const EVERY = 500; // milliseconds between two looks at the page
const LONGEST_LINE = 600;
const MOST_LINES = 30;
const LATE = 4000; // milliseconds until a page without the panel is known to have none

// Words of the page that a hall reads. Buttons, charts and what only a mouse finds are left out.
const WORDS = "p, li, .ecv-card tr, .ecv-sentence, .ecv-lane-head, .ecv-lane-says, .ecv-verdict, .ecv-cell";
const NO_WORDS =
  "button, label, .ecv-figure, .ecv-player, [data-ecv-phones], [role='progressbar'], summary, " +
  "[data-testid='stWidgetLabel'], [data-testid='stSlider'], [data-testid='stElementToolbar'], [class*='st-key-chart-data-']";

const roots = () => {
  const presented = [...document.querySelectorAll('main [class*="st-key-presented"]')];
  if (presented.length && location.search.includes("present=")) return presented;
  return [document.querySelector("main .st-key-learn") ?? document.querySelector("main")];
};

const words = () => {
  const lines = [];
  for (const root of roots()) {
    for (const element of root?.querySelectorAll(WORDS) ?? []) {
      const inside = element.parentElement.closest(WORDS);
      if (inside || element.closest(NO_WORDS) || !element.checkVisibility()) continue;
      const text = element.innerText.replace(/\s+/g, " ").trim();
      if (text && lines.at(-1) !== text) lines.push(text.slice(0, LONGEST_LINE));
    }
  }
  return lines.slice(0, MOST_LINES);
};

const figure = () => {
  for (const root of roots()) {
    for (const node of root?.querySelectorAll(".ecv-figure[data-drawn]") ?? []) {
      if (node.checkVisibility() && node._fullLayout) return node;
    }
  }
  return undefined;
};

const picture = async (node) => {
  const ground = getComputedStyle(node).getPropertyValue("--st-background-color").trim();
  const font = { ...node.layout.font, family: "Arial, Helvetica, Liberation Sans, sans-serif" };
  const layout = { ...node.layout, font, paper_bgcolor: ground, autosize: false };
  const size = { width: 720, height: Math.min(node.clientHeight || 400, 560) };
  const source = await window.Plotly.toImage({ data: node.data, layout }, { format: "svg", ...size });
  return { source, alt: node.getAttribute("aria-label") ?? "" };
};

const written = () => {
  const all = { question: null, outcome: null };
  for (const element of document.querySelectorAll("main [data-ecv-phones]")) {
    Object.assign(all, JSON.parse(element.dataset.ecvPhones));
  }
  return all;
};

const newLecture = ({ code, key }) => {
  const sent = {}; // what the phones have, as text
  let drawn = ""; // the state of the figure that they have
  let socket;
  let looking = 0;
  let wait = 500;
  let over = false;
  const lecture = { code, phones: 0, bets: 0, changed: () => {} };

  const send = async () => {
    if (socket.readyState !== WebSocket.OPEN || document.querySelector("[data-ecv-drawing]")) return;
    const title = document.querySelector("main h1")?.innerText ?? document.title;
    const now = { title, lines: words(), ...written() };
    const node = figure();
    const state = node ? `${node.getAttribute("aria-label")}${JSON.stringify(node.data).length}` : "none";
    if (state !== drawn) {
      now.picture = node ? await picture(node) : null;
      drawn = state;
    }
    const message = {};
    for (const [name, value] of Object.entries(now)) {
      const text = JSON.stringify(value);
      if (sent[name] === text) continue;
      sent[name] = text;
      message[name] = value;
    }
    if (Object.keys(message).length) socket.send(JSON.stringify(message));
  };
  const look = () => {
    const next = () => {
      if (!over) looking = setTimeout(look, EVERY);
    };
    send().then(next, next); // a figure that is gone meanwhile is none
  };
  const connect = () => {
    const url = new URL(`classroom/${code}/host`, document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    socket = new WebSocket(url);
    socket.addEventListener("open", () => {
      wait = 500;
      for (const name of Object.keys(sent)) delete sent[name];
      drawn = "";
      socket.send(key);
      look();
    });
    socket.addEventListener("message", ({ data }) => {
      const told = JSON.parse(data);
      if (told.ended) over = true;
      Object.assign(lecture, told);
      lecture.changed();
    });
    socket.addEventListener("close", () => {
      clearTimeout(looking);
      if (over) return;
      setTimeout(connect, wait);
      wait = Math.min(2 * wait, 8000);
    });
  };
  lecture.leave = () => {
    over = true;
    clearTimeout(looking);
    socket.close();
  };
  connect();
  return lecture;
};

const make = (tag, text, act) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (act) {
    made.type = "button";
    made.addEventListener("click", () => {
      made.blur(); // or the space bar would press it again
      act();
    });
  }
  return made;
};

const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

const drawPanel = (panel, { room, problem }, setTriggerValue) => {
  const lecture = window.ecvLecture;
  panel.replaceChildren();
  panel.classList.toggle("ecv-phones-offer", !room && !problem);
  if (!room) {
    panel.classList.remove("ecv-phones-large");
    if (problem) panel.append(make("p", `Phones cannot follow: ${problem}.`));
    panel.append(make("button", "Let phones follow", () => setTriggerValue("begin", true)));
    return;
  }
  const row = make("div", "");
  const count = make("span", "");
  count.setAttribute("role", "status");
  const large = () => panel.classList.contains("ecv-phones-large");
  const size = make("button", large() ? "Hide the code" : "Show the code", () => {
    panel.classList.toggle("ecv-phones-large");
    size.textContent = large() ? "Hide the code" : "Show the code";
  });
  row.append(count, size, make("button", "End", () => setTriggerValue("end", true)));
  const code = make("div", "");
  code.className = "ecv-phones-code";
  code.innerHTML = room.qr;
  code.append(make("p", room.address));
  panel.append(code, row);
  lecture.changed = () => {
    const bets = written().question ? `, ${counted(lecture.bets, "bet")}` : "";
    count.textContent = `${counted(lecture.phones, "phone")}${bets}`;
  };
  lecture.changed();
};

export default function ({ data, setTriggerValue }) {
  let panel = document.querySelector(".ecv-phones");
  const { room } = data;
  if (window.ecvLecture?.code !== room?.code) {
    window.ecvLecture?.leave();
    window.ecvLecture = room ? newLecture(room) : undefined;
    panel?.classList.toggle("ecv-phones-large", Boolean(room)); // a new lecture begins with its code
  }
  if (!panel) {
    panel = document.createElement("aside");
    panel.className = "ecv-phones";
    panel.setAttribute("aria-label", "Phones that follow");
    document.body.append(panel);
  }
  // Streamlit tells the theme to its own parts only, and the panel stands beside them.
  panel.style.colorScheme = getComputedStyle(document.querySelector("main")).colorScheme;
  drawPanel(panel, data, setTriggerValue);
  return () => {
    setTimeout(() => {
      if (document.querySelector(".st-key-told-phones")) return; // drawn anew, or another page's
      window.ecvLecture?.leave();
      window.ecvLecture = undefined;
      panel.remove();
    }, LATE);
  };
}
