/** Steps and labels of a chart's axes. */
globalThis.page.axes = (() => {
  const TIME_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map((seconds) => seconds * 1000),
    [1, 2, 4, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
  );

  /** A step of 1, 2 or 5 times a power of ten of the unit, for about `count` steps. */
  function byteStep(most, count) {
    let unit = 1;
    while (most / count / unit >= 1024) unit *= 1024;
    const rough = most / count / unit;
    return unit * [1, 2, 5, 10, 20, 50, 100, 200, 256, 512, 1024].find((step) => step >= rough);
  }

  const timeStep = (span, count) => TIME_STEPS.find((step) => step >= span / count) ?? TIME_STEPS.at(-1);

  function timeLabel(ms) {
    if (ms === 0) return '0';
    if (ms < 1000) return `${ms} ms`;
    if (ms < 60_000) return `${ms / 1000} s`;
    const minutes = ms / 60_000;
    if (minutes < 60)
      return Number.isInteger(minutes)
        ? `${minutes} min`
        : `${Math.floor(minutes)}:${String((ms / 1000) % 60).padStart(2, '0')}`;
    return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60}`;
  }

  return { byteStep, timeStep, timeLabel };
})();
