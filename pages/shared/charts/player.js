// Plays the steps of a figure: play and pause, step, scrub, speed, keys. It says every step as
// slider_watch.js does ("ecv-step", window.ecvSteps), and between two steps how far the next one is
// ("ecv-progress", window.ecvProgress). Nothing asks the server.
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const make = (tag, name, text) => {
  const made = document.createElement(tag);
  made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const button = (name, label, icon, act) => {
  const made = make("button", `ecv-button ${name}`);
  made.type = "button";
  made.title = label;
  made.setAttribute("aria-label", label);
  made.append(icon);
  made.addEventListener("click", act);
  return made;
};

const key = (...names) => names.map((name) => make("kbd", "", name));

const SHAPES = {
  first: "M6 5v14M19 5 9 12l10 7z",
  back: "M17 5 7 12l10 7z",
  play: "M7 4v16l13-8z",
  pause: "M7 5h4v14H7zM14 5h4v14h-4z",
  next: "M7 5l10 7-10 7z",
  last: "M18 5v14M5 5l10 7-10 7z",
};

const icon = (name) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
};

const say = (player) => {
  const { name } = player.data;
  window.ecvSteps ??= {};
  window.ecvProgress ??= {};
  const at = player.step + (still() ? 0 : player.part);
  if (window.ecvSteps[name] !== player.step) {
    window.ecvSteps[name] = player.step;
    window.dispatchEvent(new CustomEvent("ecv-step", { detail: name }));
  }
  if (window.ecvProgress[name] !== at) {
    window.ecvProgress[name] = at;
    window.dispatchEvent(new CustomEvent("ecv-progress", { detail: name }));
  }
};

const remember = ({ data, step, speed }) => {
  const url = new URL(window.location.href);
  url.searchParams.set("fold", step);
  if (speed === data.speed) url.searchParams.delete("speed");
  else url.searchParams.set("speed", speed);
  window.history.replaceState(window.history.state, "", url);
};

const last = (player) => player.data.texts.length - 1;

const go = (player, step) => {
  player.playing = false;
  player.step = Math.max(0, Math.min(step, last(player)));
  player.part = 0;
  player.paint();
  remember(player);
};

const tick = (player, now) => {
  if (!player.playing) return;
  if (!player.node.isConnected) {
    player.playing = false;
    return;
  }
  const { seconds, pauses } = player.data;
  let left = (Math.min((now - player.then) / 1000, 1) * player.speed) || 0;
  player.then = now;
  while (left > 0 && player.step < last(player)) {
    const whole = Math.max(seconds[player.step], 1e-6);
    const missing = whole * (1 - player.part);
    if (left < missing) {
      player.part += left / whole;
      break;
    }
    left -= missing;
    player.step += 1;
    player.part = 0;
    if (pauses.includes(player.step)) {
      player.playing = false;
      break;
    }
  }
  if (player.step >= last(player)) player.playing = false;
  player.paint();
  if (player.playing) requestAnimationFrame((then) => tick(player, then));
  else remember(player);
};

const toggle = (player) => {
  player.playing = !player.playing;
  if (player.playing) {
    if (player.step >= last(player)) player.step = 0;
    player.then = performance.now();
    requestAnimationFrame((now) => tick(player, now));
  } else {
    remember(player);
  }
  player.paint();
};

// Keys that something else on the page wants stay its own.
const taken = (target, player, pressed) => {
  if (!target?.closest || target === player.scrub) return false;
  if (document.querySelector('[role="dialog"]')) return true;
  if (target.closest("input, textarea, select, [contenteditable='true'], [role='combobox']")) {
    return true;
  }
  if (pressed === " ") return Boolean(target.closest("button, a, summary, [role='button']"));
  return Boolean(target.closest("[role='radiogroup'], [role='tablist'], [role='grid'], canvas"));
};

const pressed = (player, event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !player.node.isConnected) return;
  if (taken(event.target, player, event.key)) return;
  const acts = {
    " ": () => toggle(player),
    ArrowLeft: () => go(player, player.step - 1),
    ArrowRight: () => go(player, player.step + 1),
    Home: () => go(player, 0),
    End: () => go(player, last(player)),
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
};

const controls = (player) => {
  const { data } = player;
  const play = button("ecv-play", "Play", icon("play"), () => toggle(player));
  const row = make("div", "ecv-controls");
  row.append(
    button("", "To the start", icon("first"), () => go(player, 0)),
    button("", "One step back", icon("back"), () => go(player, player.step - 1)),
    play,
    button("", "One step on", icon("next"), () => go(player, player.step + 1)),
    button("", "To the end", icon("last"), () => go(player, last(player))),
  );
  const scrub = make("input", "ecv-scrub");
  Object.assign(scrub, { type: "range", min: 0, max: last(player), step: 1 });
  scrub.setAttribute("aria-label", data.label);
  scrub.addEventListener("input", () => go(player, Number(scrub.value)));
  const speed = make("select", "ecv-speed");
  speed.setAttribute("aria-label", "Speed");
  data.speeds.forEach(([text, factor]) => {
    const option = make("option", "", text);
    option.value = factor;
    option.selected = factor === player.speed;
    speed.append(option);
  });
  speed.addEventListener("change", () => {
    player.speed = Number(speed.value);
    remember(player);
  });
  const where = make("span", "ecv-where");
  row.append(scrub, where, speed);
  const hint = make("p", "ecv-hint");
  hint.append(...key("Space"), " plays and pauses, ", ...key("←", "→"), " step");
  player.scrub = scrub;
  player.show = () => {
    scrub.value = player.step;
    scrub.setAttribute("aria-valuetext", data.texts[player.step]);
    where.textContent = `${data.unit} ${player.step} of ${last(player)}`;
    const label = player.playing ? "Pause" : "Play";
    if (play.title !== label) {
      play.title = label;
      play.setAttribute("aria-label", label);
      play.replaceChildren(icon(player.playing ? "pause" : "play"));
    }
  };
  return data.autoplay ? [row] : [row, hint]; // whoever comes to watch needs no keys
};

const hints = (player) => {
  const row = make("div", "ecv-keys");
  const add = (label, names, act) => {
    const made = make("button", "ecv-key");
    made.type = "button";
    made.append(...key(...names), make("span", "", ` ${label}`));
    made.addEventListener("click", () => {
      made.blur(); // or the space bar would press it again
      act();
    });
    row.append(made);
    return made;
  };
  add("back", ["←"], () => go(player, player.step - 1));
  const play = add("play", ["Space"], () => toggle(player));
  add("on", ["→"], () => go(player, player.step + 1));
  add("full screen", ["F"], () => window.dispatchEvent(new Event("ecv-full")));
  add("leave", ["Esc"], () => window.dispatchEvent(new Event("ecv-leave"))); // see present.js
  player.scrub = null;
  player.show = () => {
    play.lastChild.textContent = player.playing ? " pause" : " play";
  };
  return [row];
};

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-player");
  window.ecvPlayers ??= {};
  const before = window.ecvPlayers[data.name];
  const asked = Number(new URLSearchParams(window.location.search).get("speed"));
  const known = data.speeds.some(([, factor]) => factor === asked);
  const same = before?.data.version === data.version;
  const player = same ? before : { step: data.step, part: 0, playing: false };
  before?.unlisten?.(); // new data comes without a clean-up of the old
  if (before && !same) before.playing = false;
  if (!same) player.speed = known ? asked : data.speed;
  Object.assign(player, { data, node });
  player.step = Math.min(player.step, last(player));
  if (!same && data.autoplay && still()) player.step = last(player);
  window.ecvPlayers[data.name] = player;
  player.paint = () => {
    player.show();
    say(player);
  };
  node.replaceChildren(...(data.present ? hints(player) : controls(player)));
  player.paint();
  if (!same && data.autoplay && !still()) toggle(player);
  const listen = (event) => pressed(player, event);
  window.addEventListener("keydown", listen);
  player.unlisten = () => {
    window.removeEventListener("keydown", listen);
  };
  return player.unlisten;
}
