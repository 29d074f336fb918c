/** Preloaded (`node -r`): at its end a program prints its resource usage as a line of JSON. */
'use strict';

const start = performance.now();
process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage(); // kibibytes, microseconds
  const seconds = (performance.now() - start) / 1000;
  process.stdout.write(
    `\n${JSON.stringify({ seconds, cpu: (userCPUTime + systemCPUTime) / 1e6, peak: 1024 * maxRSS })}\n`,
  );
});
