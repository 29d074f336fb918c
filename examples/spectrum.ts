/**
 * Finds the tones in a sound: a Fourier transform of a noisy signal, with a window, and the peaks.
 * `node examples/spectrum.js`
 */
import torch from 'libtorch-node';

const RATE = 8000; // samples per second
const SECONDS = 1;
const TONES = [
  { hertz: 440, loudness: 1 },
  { hertz: 659, loudness: 0.5 },
  { hertz: 1250, loudness: 0.25 },
];

torch.manualSeed(3);
const peaks = torch.scope(() => {
  const time = torch.arange(RATE * SECONDS, { dtype: 'float32' }).div(RATE);
  let signal = torch.randn([RATE * SECONDS]).mul(0.2);
  for (const { hertz, loudness } of TONES)
    signal = signal.add(
      time
        .mul(2 * Math.PI * hertz)
        .sin()
        .mul(loudness),
    );

  const spectrum = torch.fft.rfft(signal.mul(torch.hannWindow(RATE * SECONDS))); // complex64
  const loudness = spectrum.abs().mul(4 / RATE); // the window halves the amplitude
  const hertz = torch.fft.rfftfreq(RATE * SECONDS, 1 / RATE);
  console.log(`${spectrum.dtype} of ${spectrum.shape[0]} frequencies up to ${hertz.at(-1).item()} Hz`);

  // A peak is louder than its neighbours within 10 Hz.
  const around = torch.nn.functional.maxPool1d(loudness.view([1, -1]), 21, 1, 10).flatten();
  const isPeak = loudness.eq(around).logicalAnd(loudness.gt(0.1));
  return torch.stack([hertz.at(isPeak), loudness.at(isPeak)], 1).tolist() as number[][];
});
for (const [hertz, loudness] of peaks) console.log(`${hertz!.toFixed(0)} Hz, loudness ${loudness!.toFixed(1)}`);
