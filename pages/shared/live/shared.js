// Has a component paint what all who watch are shown alike, as it is told; see events.py, watch.js.
const followed = (element, data, paint) => {
  const newest = () => {
    const told = window.ecvShared?.[data.shared];
    paint(told?.moment > data.moment ? { ...data, ...told.entries, at: told.at } : data);
  };
  const news = ({ detail }) => detail === data.shared && newest();
  element.ecvForget?.(); // new data comes without a clean-up of the old
  element.ecvForget = () => window.removeEventListener("ecv-shared", news);
  if (data.shared) window.addEventListener("ecv-shared", news);
  newest();
  return element.ecvForget;
};
