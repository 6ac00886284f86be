// Loads plotly.js once, whoever asks for it first: a page for a head start, or its first figure.
const loaded = (url) => {
  window.ecvPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      window.ecvPlotly = undefined;
      reject(new Error("plotly.js could not be loaded"));
    };
    document.head.append(script);
  });
  return window.ecvPlotly;
};
