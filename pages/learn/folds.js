// Every user's interactions as cards in a row; Deal moves them into k columns, one of which is held
// out. All of it happens here: the server only said who has how many cards and which fold each is in.
const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const states = new WeakMap();
const ROUND = 1600; // milliseconds that each fold is held out for while playing
const DEAL = 1300;

function build(node, data) {
  const state = { k: data.k, held: 0, dealt: false, playing: 0, data };
  const bar = element("div", "ecv-bar");
  const play = element("button", "ecv-button ecv-primary");
  play.type = "button";
  const label = element("label", "ecv-k");
  const range = element("input");
  Object.assign(range, { type: "range", min: 2, max: data.max_k, step: 1, value: state.k });
  const shown = element("strong", "", `k = ${state.k}`);
  label.append("Number of folds ", shown, range);
  bar.append(play, label);
  const heads = element("div", "ecv-heads");
  heads.setAttribute("role", "group");
  heads.setAttribute("aria-label", "Which fold is held out");
  const board = element("div", "ecv-board");
  board.setAttribute("role", "img");
  const names = data.users.map((_, user) => {
    const name = element("span", "ecv-user", `user ${user + 1}`);
    board.append(name);
    return name;
  });
  const cards = data.users.map((count) =>
    Array.from({ length: count }, () => {
      const card = element("span", "ecv-card");
      board.append(card);
      return card;
    }),
  );
  const said = element("p", "ecv-said");
  said.setAttribute("aria-live", "polite");
  node.replaceChildren(bar, heads, board, said);

  const place = () => {
    const width = board.clientWidth;
    if (!width) return;
    const left = width < 560 ? 26 : 76;
    const { k } = state;
    const folds = data.folds[k];
    const column = (width - left) / k;
    const within = folds.map((row) => {
      const counts = new Array(k).fill(0);
      row.forEach((fold) => (counts[fold] += 1));
      return Math.max(...counts);
    });
    const most = Math.max(...data.users);
    const size = Math.floor(
      Math.min(27, (column - 8) / Math.max(...within) - 3, (width - left) / most - 3),
    );
    const high = Math.max(size + 9, 24);
    board.style.height = `${high * data.users.length + 4}px`;
    board.style.setProperty("--size", `${size}px`);
    heads.style.paddingLeft = `${left}px`;
    names.forEach((name, user) => {
      name.textContent = width < 560 ? `${user + 1}` : `user ${user + 1}`;
      name.style.transform = `translateY(${user * high}px)`;
      name.style.lineHeight = `${high}px`;
    });
    cards.forEach((row, user) => {
      const seen = new Array(k).fill(0);
      row.forEach((card, at) => {
        const fold = folds[user][at];
        const x = state.dealt ? left + fold * column + 4 + seen[fold] * (size + 3) : left + at * (size + 3);
        seen[fold] += 1;
        const held = state.dealt && fold === state.held;
        card.style.transform = `translate(${x}px, ${user * high + 5}px)`;
        card.style.transitionDelay = state.dealing ? `${at * 45 + user * 15}ms` : "0ms";
        card.classList.toggle("ecv-held", held);
        card.classList.toggle("ecv-train", state.dealt && !held);
        card.textContent = held ? "?" : "";
      });
    });
  };

  const speak = () => {
    const all = data.users.reduce((sum, count) => sum + count, 0);
    const folds = data.folds[state.k].flat();
    const held = folds.filter((fold) => fold === state.held).length;
    const text = state.dealt
      ? `Fold ${state.held + 1} of ${state.k} is held out: the model learns from ${all - held} ` +
        `interactions and is asked for the ${held} it has never seen.`
      : `${data.users.length} users, ${all} interactions. Press Deal.`;
    said.textContent = text;
    board.setAttribute("aria-label", `Interactions of ${data.users.length} users. ${text}`);
    play.textContent = !state.dealt ? "Deal" : state.playing ? "Pause" : "Play";
    shown.textContent = `k = ${state.k}`;
  };

  const head = () => {
    heads.replaceChildren(
      ...Array.from({ length: state.k }, (_, fold) => {
        const held = fold === state.held;
        const button = element("button", "ecv-head", String(fold + 1));
        button.type = "button";
        button.setAttribute("aria-pressed", String(state.dealt && held));
        button.setAttribute("aria-label", `Hold out fold ${fold + 1}`);
        button.append(element("small", "", held ? "held out" : "learn"));
        button.onclick = () => {
          halt();
          hold(fold);
          heads.children[fold].focus();
        };
        return button;
      }),
    );
    heads.style.visibility = state.dealt ? "visible" : "hidden";
  };

  const paint = () => {
    head();
    place();
    speak();
  };
  const hold = (fold) => {
    state.held = fold;
    state.dealing = false;
    paint();
  };
  const halt = () => {
    clearTimeout(state.playing);
    state.playing = 0;
  };
  const next = () => {
    state.playing = setTimeout(() => {
      if (state.held === state.k - 1) {
        halt();
        speak();
        return;
      }
      hold(state.held + 1);
      next();
    }, ROUND);
  };
  play.onclick = () => {
    if (state.playing) {
      halt();
      speak();
      return;
    }
    if (!state.dealt) {
      state.dealt = true;
      state.dealing = !still();
      state.held = 0;
      paint();
      // Who wants no motion sees one round at a time.
      if (!still()) state.playing = setTimeout(next, DEAL);
    } else if (still()) {
      hold((state.held + 1) % state.k);
    } else {
      hold((state.held + 1) % state.k);
      next();
    }
    speak();
  };
  range.oninput = () => {
    halt();
    state.k = Number(range.value);
    state.held = Math.min(state.held, state.k - 1);
    state.dealing = false;
    paint();
  };
  paint();
  const resized = new ResizeObserver(place);
  resized.observe(board);
  node.classList.add("ecv-learn-ready");
  return () => {
    halt();
    resized.disconnect();
    states.delete(node);
  };
}

export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".ecv-deal");
  if (!states.has(node)) states.set(node, build(node, data));
  return states.get(node);
}
