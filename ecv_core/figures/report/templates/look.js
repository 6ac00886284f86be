// Light or dark, as the reader's other pages are, until the button is pressed.
const lookButton = document.getElementById("look");
const looks = { now: "light" };

const setLook = (look) => {
  looks.now = look;
  document.documentElement.dataset.look = look;
  lookButton.textContent = look === "dark" ? "Light" : "Dark";
  window.dispatchEvent(new Event("look"));
};

const systemLook = window.matchMedia("(prefers-color-scheme: dark)");
systemLook.addEventListener("change", () => setLook(systemLook.matches ? "dark" : "light"));
lookButton.addEventListener("click", () => setLook(looks.now === "dark" ? "light" : "dark"));
setLook(systemLook.matches ? "dark" : "light");
