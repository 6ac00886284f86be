// Presses the link beside it: the browser then goes there in one step of its history.
export default function ({ data }) {
  cancelAnimationFrame(window.ecvPress); // drawn anew without a clean-up
  // Streamlit loads the code of links by itself: it may draw the link seconds after this.
  const press = () => {
    const link = document.querySelector(`.st-key-go-there a[href*="${data.query}"]`);
    if (link) link.click();
    else window.ecvPress = requestAnimationFrame(press);
  };
  press();
  return () => cancelAnimationFrame(window.ecvPress);
}
