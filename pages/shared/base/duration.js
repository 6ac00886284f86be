// Seconds as all pages write them; see `duration` of ecv_core/figures/words.py.
const duration = (seconds) => {
  if (seconds > 0 && seconds < 0.095) return `${Math.max(Math.round(1000 * seconds), 1)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole >= 360000) return `${Math.floor(whole / 3600).toLocaleString("en")} h`;
  const [large, small, words] =
    whole < 3600
      ? [Math.floor(whole / 60), whole % 60, ["min", "s"]]
      : [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), ["h", "min"]];
  return `${large} ${words[0]}${small ? ` ${small} ${words[1]}` : ""}`;
};
