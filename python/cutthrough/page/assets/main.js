// Fills the page.

drawAsked();
drawPoints();
drawDifferences();
const drawn = drawCurves();
drawBenchmarks();
drawMessages();
drawSeries();
drawTime();
drawChannels();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((made) => made.draw()));
// For tests, and for whoever prints the page: the curves are there.
Promise.resolve(drawn).then(() => { document.documentElement.dataset.ready = "true"; });
